/**
 * The home as an outside program sees it.
 *
 * Invariants: every tool answers within 25 seconds. A tool that writes answers once the record is durable; the turn goes on in a
 * process that outlives this one and its client. Nothing here is state.
 */
import { type CommandOptions, Commands } from '../../shared/src/face/commands.js'
import { type Core, loadCore, type Place, type Store } from '../../shared/src/face/core.js'
import { FaceError } from '../../shared/src/face/face-error.js'
import { follow } from '../../shared/src/face/follow.js'
import type { StreamLine } from '../../shared/src/face/output.js'

export const ANSWER_MS_MAX = 25_000
/** Leaves time for the answer itself. */
const DURABLE_MS_MAX = 24_000
/** A client has a limited context. The log has the whole text. */
const TEXT_CHARACTERS_MAX = 20_000

/** The result of a tool, as MCP has it. */
export interface ToolResult {
  [key: string]: unknown
  content: { type: 'text'; text: string }[]
  isError?: boolean
}

type Shown = ReturnType<Core['showAgent']>

/** The progress of a command. */
export type Begun =
  /** The record of the request is durable, and its turn runs. */
  | { is: 'running'; runId: string | null }
  /** The command printed its result. */
  | { is: 'ended'; result: unknown }
  /** Nothing is durable yet. */
  | { is: 'unknown' }

export class Operator {
  readonly commands: Commands
  private loaded: Core | undefined

  constructor(private readonly place: Place) {
    this.commands = Commands.at(place, () => this.core)
    this.commands.actor = { face: 'mcp' }
  }

  /** Loaded at the first use: the answer to `initialize` does not need it. */
  get core(): Core {
    this.loaded ??= loadCore(this.place)
    return this.loaded
  }

  /** Undefined if there is no home yet. */
  store(): Store | undefined {
    return this.core.openHome(this.place.home)
  }

  /** Throws AGENT_NOT_FOUND or AGENT_AMBIGUOUS. */
  find(word: string): { store: Store; id: string } {
    const store = this.store()
    return { id: this.core.resolveAgent(store, word), store: store as Store }
  }

  show(word: string): Shown {
    const { store, id } = this.find(word)
    return this.core.showAgent(store, id)
  }

  /** Starts a command with a turn, and waits until `isDurable` finds its record, or until its result. */
  async begin(
    args: string[],
    options: CommandOptions,
    isDurable: (line: StreamLine) => boolean,
  ): Promise<Begun> {
    const { begun, first } = follow(this.commands, args, { ...options, isOurs: isDurable })
    const running = begun.then(({ run_id }): Begun => ({ is: 'running', runId: run_id ?? null }))
    const ended = first.then(({ result, error }): Begun => {
      if (error !== undefined) throw error
      return { is: 'ended', result }
    })
    return (await inTime(Promise.race([running, ended]))) ?? { is: 'unknown' }
  }
}

/** Undefined if the tool must answer first. The command goes on. */
export async function inTime<T>(result: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), DURABLE_MS_MAX)
  })
  try {
    return await Promise.race([result, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Runs a tool, and answers with JSON, or with an error that says what to do next. */
export async function answer(act: () => unknown): Promise<ToolResult> {
  try {
    return { content: [{ type: 'text', text: JSON.stringify(await act()) }] }
  } catch (error) {
    const { message = String(error), hint, code = 'UNEXPECTED' } = Object(error) as Partial<FaceError>
    const text = typeof hint === 'string' ? new FaceError(code, message, hint).text : message
    return { isError: true, content: [{ type: 'text', text: `${code}: ${text}` }] }
  }
}

/** The facts of an agent that a client needs to go on. */
export function summaryOf(shown: Shown): object {
  const { agent, run, reply, reply_is, wait, trouble, next, doing, budgets } = shown
  return {
    agent: agent.path,
    id: agent.id,
    status: agent.status,
    shown_status: agent.shown_status,
    pending_messages: agent.inbox,
    turn: run?.status ?? null,
    reply: reply === null ? null : shortened(reply),
    reply_is,
    waits_for: wait === null ? null : { kind: wait.kind, token_id: wait.token_id, asks: wait.asks },
    ...(budgets === undefined ? {} : { budgets }),
    doing,
    trouble,
    next_command: next,
  }
}

export function shortened(text: string): string {
  if (text.length <= TEXT_CHARACTERS_MAX) return text
  return `${text.slice(0, TEXT_CHARACTERS_MAX)}… (${text.length - TEXT_CHARACTERS_MAX} more characters in the log)`
}
