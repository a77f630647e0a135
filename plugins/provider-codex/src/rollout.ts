/**
 * Reads codex's store. Each thread has one JSONL file, `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, to which
 * codex appends each turn. After a power loss, lines can be incomplete or full of NUL bytes. Codex ignores such
 * lines, and so does this reader.
 */
import { createReadStream, readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { HeardOfTurn, Inspection, JsonObject } from 'substrat/provider'
import { readLines } from '../../shared/src/program/framing.js'
import { Unheard } from '../../shared/src/program/heard.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'
import { parseJson } from '../../shared/src/program/parse.js'
import type { Thread } from './thread.js'
import { type Used, usedOf } from './usage.js'

type Environment = Record<string, string | undefined>

/** A line holds a whole reply, escaped. */
const LINE_BYTES_MAX = 32 * 1024 * 1024

/** The size of a thread's rollout; null if no readable one exists. A compressed one is not readable. */
export function rolloutBytes(threadId: string, environment: Environment): number | null {
  const file = findRollout(threadId, environment)
  return file === undefined ? null : statSync(file).size
}

/**
 * The outcome and the usage of the turn that began at `thread.rolloutBytes`. `heard`: the part that substrat recorded
 * before it died. Codex never asks for permission, so only calls of substrat's tools can have needed substrat.
 */
export async function turnOutcome(
  thread: Thread,
  environment: Environment,
  heard?: HeardOfTurn,
): Promise<Inspection> {
  const file = findRollout(thread.id, environment)
  const start = thread.rolloutBytes
  // A shorter file is not the one that was measured.
  if (file === undefined || start === null || statSync(file).size < start) return { outcome: 'unknown' }
  const counts = new Counts()
  const outcome = await firstTurn(readLines(createReadStream(file, { start }), LINE_BYTES_MAX), counts, heard)
  const used = usedOf(counts.ofTurn, counts.model) ?? (await usedByTotals(counts, file, start))
  return { ...outcome, ...used }
}

/** Reads only the first turn. Later ones belong to a user who continued the thread in codex itself. */
async function firstTurn(
  lines: AsyncIterable<string | undefined>,
  counts: Counts,
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
    if (turnId === undefined) continue
    counts.take(line, event, turnId)
    if (event === undefined || (event.turn_id ?? null) !== turnId) continue
    if (isOneOf(event.type, 'task_complete', 'turn_complete')) {
      if (objectOf(event.error) !== undefined || calls.areUnheard) break
      return { outcome: 'finished', reply: textOf(event.last_agent_message) ?? '' }
    }
  }
  return { outcome: 'unfinished' }
}

/** The token counts of a turn. Codex stores them after each response of the model, before it runs the calls in it. */
class Counts {
  model: string | undefined
  /** The latest sum over the turn. Versions that do not store it have only `total`. */
  ofTurn: JsonObject | undefined
  /** The latest sum over the thread. */
  total: JsonObject | undefined

  take(line: string | undefined, event: JsonObject | undefined, turnId: unknown): void {
    this.total = totalIn(event) ?? this.total
    const isOfTurn = (payload: JsonObject | undefined): boolean => (payload?.turn_id ?? turnId) === turnId
    const context = payloadIn(line, 'turn_context')
    if (isOfTurn(context)) this.model = textOf(context?.model) || this.model
    const record = payloadIn(line, 'token_usage_record')
    if (isOfTurn(record)) this.ofTurn = objectOf(record?.turn_token_usage) ?? this.ofTurn
  }
}

/** The difference between the totals of the thread after the turn and before it. */
async function usedByTotals(
  { model, total }: Counts,
  file: string,
  start: number,
): Promise<Used | undefined> {
  if (total === undefined || start === 0) return usedOf(total, model)
  let before: JsonObject | undefined
  for await (const line of readLines(createReadStream(file, { end: start - 1 }), LINE_BYTES_MAX))
    if (line?.includes('"token_count"') === true) before = totalIn(payloadIn(line, 'event_msg')) ?? before
  return usedOf(total, model, before)
}

function totalIn(event: JsonObject | undefined): JsonObject | undefined {
  return event?.type === 'token_count' ? objectOf(objectOf(event.info)?.total_token_usage) : undefined
}

/** The calls of substrat's tools in the conversation, and their outputs. */
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

type EntryType = 'event_msg' | 'response_item' | 'token_usage_record' | 'turn_context'

function payloadIn(line: string | undefined, type: EntryType): JsonObject | undefined {
  // Skips the long lines of the conversation without parsing them.
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

/** Searches the newest days first: a continued thread is usually recent. */
function findRollout(threadId: string, environment: Environment): string | undefined {
  const end = `-${threadId}.jsonl`
  const search = (directory: string, depth: number): string | undefined => {
    const names = namesIn(directory).sort().reverse()
    if (depth === 0) {
      const name = names.find((name) => name.startsWith('rollout-') && name.endsWith(end))
      return name === undefined ? undefined : join(directory, name)
    }
    for (const name of names) {
      const file = search(join(directory, name), depth - 1)
      if (file !== undefined) return file
    }
    return undefined
  }
  return search(join(environment.CODEX_HOME || join(homedir(), '.codex'), 'sessions'), 3)
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
