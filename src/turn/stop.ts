/**
 * The three causes that stop a turn from outside: its timeout, a request file from another process, a signal to this one.
 *
 * After the first signal the turn may finish within the grace period. A second signal, or the end of the period, stops it.
 */
import { setMaxListeners } from 'node:events'
import { afterRunning, clock } from '../clock.js'
import type { SubstratError } from '../errors.js'
import type { Actor } from '../schema/types.js'
import { asActor } from '../session/actor.js'
import type { RequestVerb, StopRequest, Store } from '../storage/store.js'
import type { StopReason } from './step/turn-event.js'

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'
const SIGNALS: StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** SIGHUP is left out if `nohup` or a shell had set it to be ignored when the command began (src/start/hangup.ts). */
export function stopSignals(): StopSignal[] {
  const isHangupIgnored = process.env.SUBSTRAT_HANGUP === 'ignored'
  return SIGNALS.filter((name) => name !== 'SIGHUP' || !isHangupIgnored)
}

function ignore(): void {}

/** After a program's death, how long to wait for our own stop signal, which may have reached the program first. */
const SIGNAL_PAUSE_MS = 500

/** One per command. From the command's first turn on, a signal no longer kills the process: it starts a shutdown. */
export class Shutdown {
  /** The first signal. Once set, no new turn begins. */
  requested: StopSignal | undefined
  private requestedAtMs = Number.POSITIVE_INFINITY
  turnsInFlight = 0
  /** The error of a signal before the first turn, which ends the command at once. Undefined: it only names the signal. */
  earlyEnd: ((signal: StopSignal) => SubstratError) | undefined
  private readonly asked = new AbortController()
  private readonly stopped = new AbortController()
  private timer: NodeJS.Timeout | undefined
  private isListening = false

  constructor(
    private readonly graceMs: number,
    private readonly note: (text: string) => void,
    private readonly pauseMs = SIGNAL_PAUSE_MS,
  ) {
    // One listener per turn, and recovery runs as many turns at once as there are slots: Node's leak warning would be wrong.
    setMaxListeners(0, this.asked.signal, this.stopped.signal)
  }

  /** Aborted at the first signal, so that waits end at once. */
  get whenRequested(): AbortSignal {
    return this.asked.signal
  }

  /** Aborted when a turn in flight must stop now. */
  get signal(): AbortSignal {
    return this.stopped.signal
  }

  /** Whether a signal came, or comes within a moment: one sent to a whole process group does not arrive everywhere at once. */
  async isSignalled(): Promise<boolean> {
    if (this.requested !== undefined) return true
    const { signal } = this.asked
    await new Promise<void>((resolve) => {
      const onDone = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onDone)
        resolve()
      }
      const timer = setTimeout(onDone, this.pauseMs)
      signal.addEventListener('abort', onDone)
    })
    return this.requested !== undefined
  }

  /** Whether the signal may have caused an event at that time: it came before the event, or a moment after. */
  mayHaveCaused(atMs: number): boolean {
    return atMs >= this.requestedAtMs - this.pauseMs
  }

  /** Whether a signal starts a shutdown, so that the command goes on to its end. */
  get hearsSignals(): boolean {
    return this.isListening
  }

  listen(): void {
    if (this.isListening) return
    this.isListening = true
    for (const name of stopSignals()) process.on(name, this.onSignal)
  }

  /** As if that signal had come. For a process that another one stops: a signal to a whole group would count twice. */
  request(name: StopSignal): void {
    if (this.requested === undefined) this.onSignal(name)
  }

  /** From now on, only \`request\` and \`stopNow\` start a shutdown, and no signal does. */
  ignoreSignals(): void {
    this.close()
    this.isListening = true
    for (const name of SIGNALS) process.on(name, ignore)
  }

  /** Turns in flight stop without the rest of the grace period. */
  stopNow(): void {
    this.stopped.abort()
  }

  /** The command's timeout has passed: turns in flight get the grace period to end. */
  expire(): void {
    this.timer ??= setTimeout(() => this.stopped.abort(), this.graceMs)
  }

  close(): void {
    clearTimeout(this.timer)
    for (const name of SIGNALS) process.off(name, this.onSignal).off(name, ignore)
    this.isListening = false
  }

  private readonly onSignal = (name: StopSignal): void => {
    if (this.requested !== undefined) {
      this.stopped.abort()
      return
    }
    this.requested = name
    this.requestedAtMs = clock.monotonic()
    this.asked.abort()
    if (this.turnsInFlight > 0)
      this.note(
        `${name}: letting the turn finish, for up to ${Math.round(this.graceMs / 1000)} s; send it again to stop now`,
      )
    this.timer = setTimeout(() => this.stopped.abort(), this.graceMs)
  }
}

export interface TurnStop {
  signal: AbortSignal
  /** The reason for the stop. Valid once `signal` is aborted. */
  reason(): StopReason
  /** The one who asked for it. Undefined for another cause, and if that is unknown. */
  askedBy(): Actor | undefined
  /** Whether a signal asked substrat to stop; its programs may have received it too. `waits`: allow a moment for it to arrive. */
  isShuttingDown(waits: boolean): Promise<boolean>
  /** Whether a stop signal may have caused an event at that time (monotonic clock, milliseconds). */
  mayHaveCaused(atMs: number): boolean
  /** After a stop signal: ends the turn without the rest of the grace period, because the awaited reply can no longer come. */
  endIfShuttingDown(): void
  close(): void
}

const REASON_OF: Record<RequestVerb, StopReason> = {
  suspend: 'suspended',
  terminate: 'terminated',
  cancel: 'cancelled',
}

export function watchForStop(
  store: Store,
  run: { agentId: string; runId: string; turnTimeoutMs: number | null },
  shutdown: Shutdown,
): TurnStop {
  const stopped = new AbortController()
  // Each request and tool of the turn adds a listener, and providers need not remove theirs: Node's leak warning would be wrong.
  setMaxListeners(0, stopped.signal)
  let reason: StopReason = 'shutdown'
  let askedBy: Actor | undefined
  const stop = (why: StopReason, by?: object): void => {
    if (stopped.signal.aborted) return
    reason = why
    askedBy = asActor(by)
    stopped.abort()
  }
  const take = (requests: StopRequest[]): void => {
    for (const { runId, verb, by } of requests) if (runId === run.runId) stop(REASON_OF[verb], by)
  }
  const onShutdown = (): void => stop('shutdown')
  shutdown.listen()
  shutdown.turnsInFlight += 1
  if (shutdown.signal.aborted) onShutdown()
  shutdown.signal.addEventListener('abort', onShutdown)
  const watcher = store.requests.watch(run.agentId, take)
  const endTimeout =
    run.turnTimeoutMs === null ? undefined : afterRunning(run.turnTimeoutMs, () => stop('turn_timeout'))
  return {
    signal: stopped.signal,
    reason: () => reason,
    askedBy: () => askedBy,
    mayHaveCaused: (atMs) => shutdown.mayHaveCaused(atMs),
    endIfShuttingDown: () => {
      if (shutdown.requested !== undefined) onShutdown()
    },
    isShuttingDown: async (waits) => (waits ? shutdown.isSignalled() : shutdown.requested !== undefined),
    close() {
      shutdown.turnsInFlight -= 1
      watcher.close()
      endTimeout?.()
      shutdown.signal.removeEventListener('abort', onShutdown)
    },
  }
}
