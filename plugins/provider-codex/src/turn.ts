/**
 * One turn: a `codex exec` process with its prompt on stdin.
 *
 * Invariants:
 * - The thread id is yielded before any other event of the thread.
 * - Only `turn.completed` or codex's own store makes a reply, never an exit code.
 * - After the turn no process of its group runs.
 */
import type {
  AgentEvent,
  AgentHost,
  Inspection,
  JsonObject,
  ProviderFailure,
  ProviderSettings,
  TurnCallOptions,
} from 'substrat/provider'
import { refusedAfter } from '../../shared/src/failure.js'
import { killerOf } from '../../shared/src/program/exit.js'
import { countOf, objectOf, textOf } from '../../shared/src/program/json.js'
import { type JsonProgram, launchJsonProgram } from '../../shared/src/program/program.js'
import { commandOf, promptOf } from './command.js'
import { codexFailure, exitFailure } from './failure.js'
import { ToolUses } from './items.js'
import { OfflineClock } from './offline.js'
import { rolloutBytes, turnOutcome } from './rollout.js'
import { readSettings, type Settings } from './settings.js'
import { encodeThread, isThreadId, type Thread } from './thread.js'
import { usedOf } from './usage.js'

export interface Turn {
  prompt: string
  /** Undefined for the first turn. */
  thread: Thread | undefined
  settings: ProviderSettings
  host: AgentHost
  options: TurnCallOptions
  /** Replaces the state of the thread. */
  keep(thread: Thread): void
}

/** Time for codex to save its thread and stop its servers after a turn. */
const EXIT_GRACE_MS = 3000
/** Failures after which codex retries by itself. */
const PASSING = ['crashed', 'unreachable', 'timeout', 'overloaded', 'server_error']
/** Time for an interrupted codex to record the abort and end its commands, which have their own process groups. */
const INTERRUPT_GRACE_MS = 500

export async function* runTurn(turn: Turn): AsyncIterable<AgentEvent> {
  const own = readSettings(turn.settings)
  const { signal, allow } = turn.options
  const reader = new TurnReader(turn)
  if (turn.thread !== undefined) yield reader.know(measureRollout(turn.thread))
  const offline = new OfflineClock(own.offlineTimeoutMs)
  const { settings, host } = turn
  const command = commandOf({ settings, own, threadId: turn.thread?.id ?? null, allow, tools: host.tools })
  const program = await launchJsonProgram(host, command, {
    signal: AbortSignal.any([signal, offline.signal]),
    onAbort: () => reader.interrupt(),
    abortGraceMs: INTERRUPT_GRACE_MS,
  })
  let graceMs = 0
  try {
    program.closeStdin(promptOf(turn.prompt, settings, turn.thread?.id ?? null))
    for await (const message of program.messages()) {
      offline.hear(message)
      yield* reader.read(message)
      if (reader.isOver) break
    }
    offline.stop()
    if (reader.isOver) graceMs = EXIT_GRACE_MS
    // Read the store of a turn without an end only after every process that writes to it has ended.
    else await program.finish(signal.aborted || offline.signal.aborted ? 0 : EXIT_GRACE_MS)
    const stored = await reader.stored()
    // Also if the turn failed or was stopped.
    yield* reader.used(stored)
    if (!reader.isOver) offline.throwIfOver()
    yield* reader.end(await replyOf(reader, stored, program, own, signal))
  } finally {
    offline.stop()
    await program.finish(graceMs)
  }
}

function measureRollout(thread: Thread): Thread {
  return { ...thread, rolloutBytes: rolloutBytes(thread.id, process.env) }
}

/** The reply of a completed turn, even if codex was killed before it could report the end. */
async function replyOf(
  reader: TurnReader,
  stored: Inspection,
  program: JsonProgram,
  { command }: Settings,
  signal: AbortSignal,
): Promise<string> {
  if (reader.failed !== undefined) throw reader.failure(reader.failed)
  if (reader.isOver) return reader.reply
  signal.throwIfAborted()
  if (stored.outcome === 'finished') return stored.reply
  const exit = await program.exited
  const last = reader.lastError === undefined ? undefined : reader.failure(reader.lastError)
  // Codex was killed during a retry, so the last error did not end the turn.
  if (last !== undefined && (killerOf(exit) === undefined || !PASSING.includes(last.failure.type))) throw last
  throw exitFailure(command[0], exit, await program.complaint(), reader.hasBegun)
}

class TurnReader {
  thread: Thread | undefined
  reply = ''
  /** The error of a turn that codex itself ended. */
  failed: string | undefined
  /** The latest error, unless an item followed it. */
  lastError: string | undefined
  isOver = false
  hasBegun = false
  /** The tokens of all turns in the thread. */
  private total: JsonObject | undefined
  private isFirstText = true
  private lastNote: string | undefined
  private processId: number | undefined
  private readonly tools: ToolUses

  constructor(private readonly turn: Turn) {
    this.tools = new ToolUses(turn.host.tools?.name)
  }

  *read(message: JsonObject): Iterable<AgentEvent> {
    switch (message.type) {
      case 'process':
        this.processId = countOf(message.pid)
        break
      case 'thread.started':
        this.hasBegun = true
        yield* this.startEvents(textOf(message.thread_id))
        break
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        this.hasBegun = true
        this.lastError = undefined
        yield* this.item(message.type, objectOf(message.item) ?? {})
        break
      case 'error':
        yield* this.error(textOf(message.message) ?? '')
        break
      case 'turn.completed':
        this.isOver = true
        this.total = objectOf(message.usage)
        break
      case 'turn.failed':
        this.isOver = true
        this.failed = textOf(objectOf(message.error)?.message) ?? 'the turn failed'
        break
    }
  }

  failure(said: string): ProviderFailure {
    const failed = codexFailure(said)
    return failed.failure.type === 'refused' ? refusedAfter(this.reply, failed.message) : failed
  }

  /**
   * The turn in codex's store. If the store cannot be read, the turn ends without it. A codex that has reported nothing
   * has begun no turn: a new turn in its store is then of another writer of the thread.
   */
  async stored(): Promise<Inspection> {
    if (this.thread === undefined || !this.hasBegun) return { outcome: 'unknown' }
    return turnOutcome(this.thread, process.env).catch(() => ({ outcome: 'unknown' }))
  }

  /** Codex prints only the total of the thread, and none for a turn that fails. Its store has the counts of each turn. */
  *used({ usage, models }: Inspection): Iterable<AgentEvent> {
    if (usage !== undefined) yield { type: 'usage', usage, ...(models && { models }) }
    else if (this.turn.thread === undefined) {
      const used = usedOf(this.total, undefined)
      if (used !== undefined) yield { type: 'usage', ...used }
    }
  }

  *end(reply: string): Iterable<AgentEvent> {
    yield* this.tools.close()
    yield { type: 'done', reply }
  }

  know(thread: Thread): AgentEvent {
    this.thread = thread
    this.turn.keep(thread)
    return { type: 'state', state: encodeThread(thread) }
  }

  /** Sends SIGINT, as Ctrl-C does. After SIGTERM codex would leave its commands running. */
  interrupt(): void {
    if (this.processId === undefined) return
    try {
      process.kill(-this.processId, 'SIGINT')
    } catch {
      // The process has ended.
    }
  }

  /** A continued thread already has its id. */
  private *startEvents(id: string | undefined): Iterable<AgentEvent> {
    if (!isThreadId(id) || id === this.thread?.id) return
    yield this.know({ id, rolloutBytes: 0 })
  }

  private *item(event: string, item: JsonObject): Iterable<AgentEvent> {
    if (item.type === 'agent_message' && event === 'item.completed') {
      this.reply = textOf(item.text) ?? ''
      yield { type: 'text', text: this.isFirstText ? this.reply : `\n\n${this.reply}` }
      this.isFirstText = false
    } else if (item.type === 'error') {
      yield* this.note(textOf(item.message) ?? '')
    } else {
      yield* this.tools.take(event === 'item.completed' ? 'completed' : 'started', item)
    }
  }

  /** Codex can recover from this error, or report it again as `turn.failed`. */
  private *error(message: string): Iterable<AgentEvent> {
    this.lastError = message
    if (message.startsWith('Reconnecting')) yield* this.note(message)
  }

  private *note(text: string): Iterable<AgentEvent> {
    if (text === '' || text === this.lastNote) return
    this.lastNote = text
    yield { type: 'note', text: `codex: ${text}` }
  }
}
