/**
 * Requests that cause a turn. Each starts the ordinary command, and answers as soon as the record that makes the request durable
 * is on disk (202), or with `Prefer: wait` when the turn has ended (200). The command does not depend on either.
 */
import { z } from 'zod'
import { FaceError } from '../../shared/src/face/face-error.js'
import { follow, isRun } from '../../shared/src/face/follow.js'
import type { StreamLine } from '../../shared/src/face/output.js'
import type { Answer, Call } from './route.js'
import { findAgent, type Server } from './server.js'
import { accepted, turn } from './shapes.js'

const PREFER =
  '`respond-async` (default): answer once the request is durable. `wait` or `wait=SECONDS`: answer with the outcome of the turn, or after that time as without it.'

export const timeout = z
  .string()
  .optional()
  .describe('How long to wait for a busy agent or a slot, such as `30s`; default: the timeout setting.')

/** The parts that such routes share. */
export const TURN = {
  method: 'post' as const,
  tag: 'turns',
  needs: 'all' as const,
  headers: { Prefer: PREFER },
  answers: {
    200: { description: 'With `Prefer: wait`: the turn has ended, or waits.', shape: turn },
    202: { description: 'The request is durable.', shape: accepted },
  },
}

export interface TurnCommand {
  args: string[]
  /** The content of stdin. */
  input?: string
  env?: Record<string, string>
  /** Whether it may store a message for a later turn. */
  canQueue?: true
  /** Whether the record shows that this request is durable. */
  isOurs(line: StreamLine): boolean
}

/** The parts of a result that decide the answer. */
interface Turn {
  agent: { id: string }
  run: { id: string; status: string } | null
  wait: { kind: string } | null
}

export async function runTurn(call: Call<unknown, unknown>, command: TurnCommand): Promise<Answer> {
  const { server, headers } = call
  const { args, input, env, isOurs } = command
  const waitMs = waitOf(headers.get('prefer') ?? '')
  const { first, begun } = follow(server.commands, args, {
    input,
    ...(env === undefined ? {} : { env }),
    isOurs,
  })
  let durable: StreamLine | undefined
  const isDurable = begun.then((line) => {
    durable = line
  })
  if (waitMs > 0) await atMost(waitMs, first, server.stopping)
  const end = await Promise.race([first, waitMs === Number.POSITIVE_INFINITY ? first : isDurable])
  if (end === undefined) {
    const { agent, run_id = null } = durable as unknown as StreamLine
    return acceptedAnswer(agent, run_id)
  }
  if (end.error !== undefined) throw end.error
  // `resume` prints nothing if there is nothing to continue.
  const turn = (end.result as Turn | undefined) ?? currentTurn(call)
  return answerOf(call.server, turn, command, {
    isTaken: durable !== undefined || end.result === undefined,
    isAwaited: waitMs > 0,
  })
}

/** Runs a command that continues a turn of the agent in the path. */
export function continueTurn(
  call: Call<unknown, unknown>,
  command: string,
  args: string[],
  more: Pick<TurnCommand, 'input' | 'env'> = {},
): Promise<Answer> {
  const { agentId } = findAgent(call.server, call.agent)
  return runTurn(call, { args: [command, agentId, ...args], isOurs: isRun(agentId), ...more })
}

function acceptedAnswer(agent: string, runId: string | null): Answer {
  return { status: 202, body: { agent, run_id: runId, events: `/v1/agents/${agent}/events` } }
}

function answerOf(
  server: Server,
  turn: Turn,
  { canQueue }: TurnCommand,
  { isTaken, isAwaited }: { isTaken: boolean; isAwaited: boolean },
): Answer {
  // A waiting or interrupted turn is an outcome of the request, unless the request itself was refused because of it.
  const code =
    turn.wait !== null ? codeOf(turn.wait) : turn.run?.status === 'interrupted' ? 'INTERRUPTED' : undefined
  if (code !== undefined && !isTaken) throw refusedBy(server, code, turn)
  const isQueued = canQueue === true && turn.run === null
  if (isQueued || (!isAwaited && turn.run !== null))
    return acceptedAnswer(turn.agent.id, turn.run?.id ?? null)
  return { status: 200, body: turn }
}

function codeOf({ kind }: { kind: string }): string {
  return kind === 'not_before' ? 'NOT_BEFORE' : 'WAITING'
}

function refusedBy(server: Server, code: string, turn: Turn): Error {
  const { store, agentId } = findAgent(server, turn.agent.id)
  const { advice, next } = server.core.showAgent(store, agentId)
  return FaceError.of({
    code,
    message: 'nothing was changed: the latest turn of the agent has not ended',
    hint: advice ?? next ?? `look at it: substrat show ${turn.agent.id}`,
    facts: { agent_id: turn.agent.id, turn },
  })
}

function currentTurn({ server, agent }: Call<unknown, unknown>): Turn {
  const { store, agentId } = findAgent(server, agent)
  const { agent: shown, run, reply, wait } = server.core.showAgent(store, agentId)
  return { agent: shown, run, reply, wait } as Turn
}

/** RFC 7240. 0 for no wait. */
function waitOf(prefer: string): number {
  const [, seconds] = /(?:^|[,\s])wait(?:=(\d{1,6}))?(?:$|[,;\s])/i.exec(prefer) ?? [undefined, null]
  if (seconds === null) return 0
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000
}

/** Waits for the result until the time is over or the server stops. */
async function atMost(ms: number, first: Promise<unknown>, stopping: AbortSignal): Promise<void> {
  const over = new AbortController()
  const isOver = new Promise<void>((resolve) => {
    over.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const end = (): void => over.abort()
  const timer = ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(end, ms)
  stopping.addEventListener('abort', end, { once: true })
  try {
    await Promise.race([first, isOver])
  } finally {
    clearTimeout(timer)
    stopping.removeEventListener('abort', end)
  }
}
