/**
 * What can stop a turn from outside: its wall clock, a request file from another process, a signal to this one.
 *
 * A signal lets the turn finish within the grace period; the same signal again, or the end of the grace, stops it.
 */
import { setMaxListeners } from 'node:events'
import { clock } from '../clock.js'
import type { FileStore, RequestVerb } from '../storage/store.js'
import type { StopReason } from './step/turn-event.js'

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'
const SIGNALS: StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Without SIGHUP where `nohup`, or a shell, had it ignored when the command began (src/start/hangup.ts). */
function stopSignals(): StopSignal[] {
  const isHangupIgnored = process.env.SUBSTRAT_HANGUP === 'ignored'
  return SIGNALS.filter((name) => name !== 'SIGHUP' || !isHangupIgnored)
}

/** How long a signal is waited for that may have killed a program first. */
const SIGNAL_PAUSE_MS = 500

/** One per command: from its first turn on, signals no longer kill the process but ask it to come to an end. */
export class Shutdown {
  /** The first signal: nothing new is begun. */
  requested: StopSignal | undefined
  private requestedAtMs = Number.POSITIVE_INFINITY
  turnsInFlight = 0
  private readonly asked = new AbortController()
  private readonly stopped = new AbortController()
  private timer: NodeJS.Timeout | undefined
  private isListening = false

  constructor(
    private readonly graceMs: number,
    private readonly note: (text: string) => void,
    private readonly pauseMs = SIGNAL_PAUSE_MS,
  ) {
    // One turn each, and recovery runs as many side by side as there are slots: no leak that Node need warn of.
    setMaxListeners(0, this.asked.signal, this.stopped.signal)
  }

  /** Aborted with the first signal: what only waits ends. */
  get whenRequested(): AbortSignal {
    return this.asked.signal
  }

  /** Aborted when a turn in flight must stop now. */
  get signal(): AbortSignal {
    return this.stopped.signal
  }

  /** Whether a signal has come, or comes now: what was sent to every process at once reaches them one after the other. */
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

  /** Whether what happened then may have been done by the signal: it came before, or a moment later. */
  mayHaveCaused(atMs: number): boolean {
    return atMs >= this.requestedAtMs - this.pauseMs
  }

  listen(): void {
    if (this.isListening) return
    this.isListening = true
    for (const name of stopSignals()) process.on(name, this.onSignal)
  }

  /** The time of the command is over, without a signal: turns in flight have the grace period to end. */
  expire(): void {
    this.timer ??= setTimeout(() => this.stopped.abort(), this.graceMs)
  }

  close(): void {
    clearTimeout(this.timer)
    for (const name of SIGNALS) process.off(name, this.onSignal)
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
        `${name}: letting the turn finish, for ${Math.round(this.graceMs / 1000)} s at most; again to stop now`,
      )
    this.timer = setTimeout(() => this.stopped.abort(), this.graceMs)
  }
}

export interface TurnStop {
  signal: AbortSignal
  /** Why, once `signal` is aborted. */
  reason(): StopReason
  /** Whether substrat was asked to stop by a signal, which may have gone to its programs too. `waits`: or is so now. */
  isShuttingDown(waits: boolean): Promise<boolean>
  /** Whether a stop signal may have caused what happened at that time (of the monotonic clock). */
  mayHaveCaused(atMs: number): boolean
  /** After a stop signal: ends the turn before the grace is over, because what it waits for cannot come any more. */
  endIfShuttingDown(): void
  close(): void
}

const REASON_OF: Record<RequestVerb, StopReason> = {
  suspend: 'suspended',
  terminate: 'terminated',
  cancel: 'cancelled',
}

/** How often the request directory is looked at where the watch says nothing. */
const LOOK_MS = 500

export function watchForStop(
  store: FileStore,
  run: { agentId: string; runId: string; turnTimeoutMs: number | null },
  shutdown: Shutdown,
): TurnStop {
  const stopped = new AbortController()
  // Every request and every tool of the turn is told by it, and a provider need not stop listening: no leak.
  setMaxListeners(0, stopped.signal)
  let reason: StopReason = 'shutdown'
  const stop = (why: StopReason): void => {
    if (stopped.signal.aborted) return
    reason = why
    stopped.abort()
  }
  const checkRequests = (): void => {
    for (const { runId, verb } of requestsTo(store, run.agentId)) {
      if (runId === run.runId) stop(REASON_OF[verb])
    }
  }
  const onShutdown = (): void => stop('shutdown')
  shutdown.listen()
  shutdown.turnsInFlight += 1
  if (shutdown.signal.aborted) onShutdown()
  shutdown.signal.addEventListener('abort', onShutdown)
  const watcher = store.requests.watch(run.agentId, checkRequests)
  const timer = setInterval(checkRequests, LOOK_MS)
  const timeout = run.turnTimeoutMs === null ? undefined : setTimeout(stop, run.turnTimeoutMs, 'turn_timeout')
  checkRequests()
  return {
    signal: stopped.signal,
    reason: () => reason,
    mayHaveCaused: (atMs) => shutdown.mayHaveCaused(atMs),
    endIfShuttingDown: () => {
      if (shutdown.requested !== undefined) onShutdown()
    },
    isShuttingDown: async (waits) => (waits ? shutdown.isSignalled() : shutdown.requested !== undefined),
    close() {
      shutdown.turnsInFlight -= 1
      watcher.close()
      clearInterval(timer)
      clearTimeout(timeout)
      shutdown.signal.removeEventListener('abort', onShutdown)
    },
  }
}

/** Requests are advisory: a directory that cannot be read now is read at the next look, and breaks no turn. */
function requestsTo(store: FileStore, agentId: string): ReturnType<FileStore['requests']['requestsTo']> {
  try {
    return store.requests.requestsTo(agentId)
  } catch {
    return []
  }
}
