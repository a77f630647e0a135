/**
 * Sends the pending outbound messages of one agent, after the command that queued them has released the agent.
 *
 * Invariants: one process at a time sends for an agent. The messages of one thread at one target go in order: none is
 * sent before the one ahead of it was sent or dropped. Queues do not wait for each other. Only durable messages are sent.
 *
 * On disk after a crash: the message is pending, sent or not. It is sent again with the same id. If the target may show it twice,
 * each attempt is in the log before it begins. A message is dropped after two of unknown outcome, so it is shown at most twice.
 */
import { clock, sleep, sleepUnref } from '../clock.js'
import { SubstratError } from '../errors.js'
import { readClock } from '../host/identity.js'
import { limits } from '../limits.js'
import type { OutboundResult } from '../schema/mail.js'
import type { Button, OutboundReply } from '../schema/types.js'
import { entriesAfter } from '../session/fold/outbound.js'
import { openDurable } from '../session/load.js'
import { readText } from '../session/read.js'
import type { OutboundEntry, State } from '../session/state.js'
import type { Right, Store } from '../storage/store.js'
import { beginningOf, expiry, pauseBefore, queuesOf, resultOf } from './plan.js'
import { pendingEntries, recordResults } from './results.js'
import type { OutboundMessage, OutboundTarget, OutboundTargets } from './target.js'

export interface SenderPorts {
  store: Store
  command: string
  targets: OutboundTargets
  /** When the command stops waiting. Aborted then. */
  end: SendingEnd
  needsVisit(state: State): boolean
  note(text: string): void
  /** An attempt at the target has ended, so it may have room. */
  onAttempted(target: OutboundTarget): void
}

/** The end of sending in this command, which becomes known when its own work is done. */
export interface SendingEnd {
  readonly signal: AbortSignal
  /** Whether a pause of this length ends before the command does, as far as is known now. */
  allows(ms: number): boolean
  /** Resolves after that time with true, or with false as soon as it is known to be after the end. */
  pause(ms: number): Promise<boolean>
}

/** How often the log is read for new messages while others are being sent. */
const LOOK_MS = 500
/** How long to wait for another process that sends for the agent: it also sends what was queued meanwhile. */
const OTHER_SENDER_MS = 2000
const OTHER_SENDER_LOOK_MS = 50

/**
 * Sends what is due, or will be soon. Returns at the end, or when nothing is left to do: the targets that had no room for a message
 * that is due.
 */
export async function sendPending(ports: SenderPorts, agentId: string): Promise<ReadonlySet<OutboundTarget>> {
  const began = clock.monotonic()
  for (;;) {
    if (ports.end.signal.aborted || loadPending(ports, agentId) === undefined) return new Set()
    const right = await ports.store.takeSender(agentId, ports.command)
    if (right === undefined) {
      if (clock.monotonic() - began > OTHER_SENDER_MS) return new Set()
      await sleep(OTHER_SENDER_LOOK_MS)
      continue
    }
    // Check again after releasing: another process may have queued a message and left it to us.
    const sender = new AgentSender(ports, agentId, right)
    if (!(await sender.run())) return sender.full
  }
}

interface Pending {
  state: State
  entries: OutboundEntry[]
}

/** Undefined if nothing is pending. */
function loadPending({ store }: SenderPorts, agentId: string): Pending | undefined {
  const state = openDurable(store, agentId)?.state
  if (state?.outbound === undefined) return undefined
  const entries = pendingEntries(store, state)
  return entries.length === 0 ? undefined : { state, entries }
}

/** The entry after the beginning of the attempt. */
interface Tried {
  entry: OutboundEntry
  result: OutboundResult
}

class AgentSender {
  private readonly active = new Map<string, Promise<void>>()
  /** Results that the log, or the inbox, does not have yet. */
  private unrecorded: OutboundResult[] = []
  private recording: Promise<void> = Promise.resolve()
  private failure: unknown
  private hasSent = false
  /** The targets that had no room when they were looked at last. */
  readonly full = new Set<OutboundTarget>()

  constructor(
    private readonly ports: SenderPorts,
    private readonly agentId: string,
    private readonly right: Right,
  ) {}

  /** Whether something was sent, dropped or tried. */
  async run(): Promise<boolean> {
    try {
      while (!this.isOver) {
        const pending = loadPending(this.ports, this.agentId)
        if (pending !== undefined) this.begin(pending)
        if (this.active.size === 0) break
        await Promise.race([...this.active.values(), sleepUnref(LOOK_MS)])
      }
      await Promise.all(this.active.values())
      await this.recording
      if (this.failure !== undefined) throw this.failure
      return this.hasSent
    } finally {
      await this.right.release()
    }
  }

  private get isOver(): boolean {
    return this.failure !== undefined || this.ports.end.signal.aborted
  }

  private begin({ state, entries }: Pending): void {
    const left = this.unrecorded.reduce(entriesAfter, entries)
    this.full.clear()
    for (const [key, queue] of queuesOf(left)) {
      if (this.active.has(key)) continue
      const [first] = queue as [OutboundEntry]
      if (!this.mayTry(first)) continue
      const sending = this.sendQueue(state, queue)
        .catch((error) => {
          this.failure ??= error
        })
        .then(() => void this.active.delete(key))
      this.active.set(key, sending)
    }
  }

  /** A long pause is left to a later command. Without room, the agent gives its place to others, whose targets may be faster. */
  private mayTry(entry: OutboundEntry): boolean {
    const now = readClock()
    const target = this.ports.targets.get(entry.target)
    if (expiry(entry, target !== undefined, now) !== undefined) return true
    const pauseMs = pauseBefore(entry, now)
    if (target === undefined || pauseMs > limits.outboundPauseMsMax || !this.ports.end.allows(pauseMs))
      return false
    if (target.room() > 0) return true
    this.full.add(target)
    return false
  }

  /** In order, up to the first entry that must wait for a later command. */
  private async sendQueue(state: State, queue: OutboundEntry[]): Promise<void> {
    for (const first of queue) {
      let entry: OutboundEntry | undefined = first
      while (entry !== undefined) {
        if (this.isOver || !this.mayTry(entry)) return
        if (!(await this.ports.end.pause(pauseBefore(entry, readClock()))) || this.isOver) return
        // Other agents may have filled the target meanwhile.
        if (!this.mayTry(entry)) return
        const tried: Tried | undefined = await this.tryOnce(state, entry)
        if (tried === undefined) return
        this.hasSent = true
        void this.record(state, tried.result)
        entry = entriesAfter([tried.entry], tried.result)[0]
      }
    }
  }

  private async tryOnce(state: State, entry: OutboundEntry): Promise<Tried | undefined> {
    const target = this.ports.targets.get(entry.target)
    const expired = expiry(entry, target !== undefined, readClock())
    if (expired !== undefined) return { entry, result: expired }
    if (target === undefined) return undefined
    const begun = target.mayShowTwice === true ? await this.beginAttempt(state, entry) : entry
    if (begun === undefined) return undefined
    this.right.assertHeld()
    const attempt = await this.attempt(target, state, begun)
    this.ports.onAttempted(target)
    const result = resultOf(begun, attempt, target.triesMax)
    return result && { entry: begun, result }
  }

  /** The entry once the attempt is durable. A kill after that counts it as an attempt of unknown outcome. */
  private async beginAttempt(state: State, entry: OutboundEntry): Promise<OutboundEntry | undefined> {
    const beginning = beginningOf(entry)
    await this.record(state, beginning)
    return this.isOver ? undefined : entriesAfter([entry], beginning)[0]
  }

  private attempt(target: OutboundTarget, state: State, entry: OutboundEntry) {
    return target.send(messageOf(this.ports.store, state, entry), this.ports.end.signal)
  }

  /** Resolves when the record is durable, or has failed. The next message of the queue needs no record of the one before. */
  private record(state: State, result: OutboundResult): Promise<void> {
    this.unrecorded.push(result)
    this.noteDrop(state, result)
    this.recording = this.recording.then(async () => {
      // The beginning of the next attempt then shares the fsync of this result.
      await new Promise<void>((resolve) => setImmediate(resolve))
      const results = [...this.unrecorded]
      if (results.length === 0 || this.failure !== undefined) return
      const { store, command, needsVisit } = this.ports
      try {
        await recordResults(store, state, results, { command, needsVisit })
        this.unrecorded = this.unrecorded.filter((each) => !results.includes(each))
      } catch (error) {
        this.failure ??= error
      }
    })
    return this.recording
  }

  private noteDrop({ path }: State, result: OutboundResult): void {
    if (result.kind !== 'outbound.dropped') return
    const why = result.why === undefined ? result.reason : `${result.reason}: ${result.why}`
    this.ports.note(`a message of ${path} was not sent and is dropped (${why})`)
  }
}

/** All of it is in the log, so that each attempt sends the same. */
function messageOf(store: Store, state: State, entry: OutboundEntry): OutboundMessage {
  const log = store.openLog(state.id)
  try {
    const record = log?.recordAt(entry.at.offset, entry.at.end)
    if (record?.kind !== 'outbound.queued' || record.outbound_id !== entry.outbound_id)
      throw new SubstratError('CORRUPT', `the log of ${state.path} lost the message ${entry.outbound_id}`, {
        hint: 'substrat doctor',
        facts: { agent_id: state.id, seq: entry.at.seq },
      })
    const { outbound_id, event, run_id, thread } = entry
    const content = record.content as string | { blob: string; bytes: number }
    const text = readText(store, state.id, content)
    return {
      outbound_id,
      event,
      agent: state.id,
      path: state.path,
      run_id,
      thread,
      at: record.ts as string,
      text,
      ...(record.replies_to === undefined ? {} : { replies_to: record.replies_to as OutboundReply }),
      ...(record.buttons === undefined ? {} : { buttons: record.buttons as Button[] }),
    }
  } finally {
    log?.close()
  }
}
