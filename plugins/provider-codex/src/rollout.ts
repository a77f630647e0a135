/**
 * Codex's own store, read only: a file of JSON lines for each thread, `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`,
 * to which each turn is appended. Its lines may be torn or full of NUL after a power loss; codex itself passes them over.
 */
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { HeardOfTurn, Inspection, JsonObject } from 'substrat/provider'
import { readLines } from '../../shared/src/program/framing.js'
import { Unheard } from '../../shared/src/program/heard.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'
import { parseJson } from '../../shared/src/program/parse.js'
import type { Thread } from './thread.js'

type Environment = Record<string, string | undefined>

/** A reply is in one line, escaped. */
const LINE_BYTES_MAX = 32 * 1024 * 1024

/** How long the rollout of a thread is; null where there is none that can be read (one that is compressed, for instance). */
export async function rolloutBytes(threadId: string, environment: Environment): Promise<number | null> {
  const file = await findRollout(threadId, environment)
  return file === undefined ? null : (await stat(file)).size
}

/**
 * How the turn ended that began where the rollout ended before it. `heard`: what the turn's substrat lived to see, where it
 * is dead. Codex asks nobody for permission, so only a call of substrat's tools can have needed it.
 */
export async function turnOutcome(
  thread: Thread,
  environment: Environment,
  heard?: HeardOfTurn,
): Promise<Inspection> {
  const file = await findRollout(thread.id, environment)
  const start = thread.rolloutBytes
  // A shorter one is not the file that was measured.
  if (file === undefined || start === null || (await stat(file)).size < start) return { outcome: 'unknown' }
  return firstTurn(readLines(createReadStream(file, { start }), LINE_BYTES_MAX), heard)
}

/** Only the first: what follows is of a person who went on with the thread in codex itself. */
async function firstTurn(
  lines: AsyncIterable<string | undefined>,
  heard: HeardOfTurn | undefined,
): Promise<Inspection> {
  let turnId: unknown
  const calls = new OwnCalls(heard)
  for await (const line of lines) {
    calls.take(line)
    const event = payloadIn(line, 'event_msg')
    if (isOneOf(event?.type, 'task_started', 'turn_started')) {
      if (turnId !== undefined) break
      turnId = event?.turn_id ?? null
    }
    if (turnId === undefined || event === undefined || (event.turn_id ?? null) !== turnId) continue
    if (isOneOf(event.type, 'task_complete', 'turn_complete')) {
      if (objectOf(event.error) !== undefined || calls.areUnheard) break
      return { outcome: 'finished', reply: textOf(event.last_agent_message) ?? '' }
    }
  }
  return { outcome: 'unfinished' }
}

/** Of substrat's tools: each is a call, and its output, in the conversation. */
class OwnCalls {
  private readonly unheard: Unheard
  private readonly open = new Set<string>()

  constructor(private readonly heard: HeardOfTurn | undefined) {
    this.unheard = new Unheard(heard)
  }

  take(line: string | undefined): void {
    if (this.heard === undefined || line?.includes('function_call') !== true) return
    const { type, name, namespace, call_id } = payloadIn(line, 'response_item') ?? {}
    const id = textOf(call_id)
    if (id === undefined) return
    const isOwn = `${textOf(namespace) ?? ''}${textOf(name) ?? ''}`.startsWith(`mcp__${this.heard.server}`)
    if (type === 'function_call' && isOwn) this.open.add(id)
    if (type === 'function_call_output' && this.open.delete(id)) this.unheard.answer()
  }

  get areUnheard(): boolean {
    return this.unheard.isAny
  }
}

function payloadIn(line: string | undefined, type: 'event_msg' | 'response_item'): JsonObject | undefined {
  // Most lines are the conversation, and long.
  if (line?.includes(`"${type}"`) !== true) return undefined
  try {
    const entry = objectOf(parseJson(line))
    return entry?.type === type ? objectOf(entry.payload) : undefined
  } catch {
    return undefined
  }
}

function isOneOf(type: unknown, ...names: string[]): boolean {
  return names.some((name) => name === type)
}

/** The newest days first: a thread that is gone on with is mostly of today. */
async function findRollout(threadId: string, environment: Environment): Promise<string | undefined> {
  const end = `-${threadId}.jsonl`
  const search = async (directory: string, depth: number): Promise<string | undefined> => {
    const names = (await readdir(directory).catch(() => [])).sort().reverse()
    if (depth === 0) {
      const name = names.find((name) => name.startsWith('rollout-') && name.endsWith(end))
      return name === undefined ? undefined : join(directory, name)
    }
    for (const name of names) {
      const file = await search(join(directory, name), depth - 1)
      if (file !== undefined) return file
    }
    return undefined
  }
  return search(join(environment.CODEX_HOME || join(homedir(), '.codex'), 'sessions'), 3)
}
