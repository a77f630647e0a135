/**
 * Reads claude's transcript of a session: `projects/<directory of the workspace>/<session id>.jsonl` below its
 * directory.
 */
import { createReadStream, existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { HeardOfTurn, Inspection, JsonObject } from 'substrat/provider'
import { readLines } from '../../shared/src/program/framing.js'
import { Unheard } from '../../shared/src/program/heard.js'
import { objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'
import { parseJson } from '../../shared/src/program/parse.js'
import type { ClaudeState } from './state.js'
import { Spent } from './usage.js'

const LINE_BYTES_MAX = 32 * 1024 * 1024

/** The directory of claude's configuration and sessions. */
export function claudeDirectory(environment: NodeJS.ProcessEnv): string {
  const given = environment.CLAUDE_CONFIG_DIR
  return given === undefined || given === '' ? join(environment.HOME || homedir(), '.claude') : given
}

/** The path of the transcript; undefined if it does not exist. */
export function findTranscript(sessionId: string, environment: NodeJS.ProcessEnv): string | undefined {
  const projects = join(claudeDirectory(environment), 'projects')
  // Look in every directory: claude's rule for naming the directory of a workspace has changed before.
  return foldersOf(projects)
    .map((folder) => join(projects, folder, `${sessionId}.jsonl`))
    .find((path) => existsSync(path))
}

function foldersOf(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/**
 * Whether the latest turn ended, and what it used, according to the transcript. Incomplete and unknown lines are ignored.
 * `heard`: the part of the turn that substrat recorded before it died.
 */
export async function inspectTranscript(
  { sessionId, promptId }: ClaudeState,
  environment: NodeJS.ProcessEnv,
  heard?: HeardOfTurn,
): Promise<Inspection> {
  if (promptId === null) return { outcome: 'unknown' }
  const path = findTranscript(sessionId, environment)
  if (path === undefined) return { outcome: 'unfinished' }
  let prompt: JsonObject | undefined
  let reply: Reply | undefined
  const results = new Results(heard)
  const spent = new Spent()
  try {
    for await (const line of readLines(createReadStream(path), LINE_BYTES_MAX)) {
      // Skips the earlier turns without parsing them.
      if (line === undefined || (prompt === undefined && !line.includes(promptId))) continue
      const entry = parsedLine(line)
      if (entry === undefined) continue
      if (entry.uuid === promptId) prompt = entry
      else if (prompt !== undefined) {
        if (isLaterPrompt(entry, prompt)) break
        reply = afterEntry(reply, entry)
        results.take(entry)
      }
      if (prompt !== undefined) spent.take(entry)
    }
  } catch {
    return { outcome: 'unknown' }
  }
  return reply?.isFinal === true && !results.areUnheard
    ? { outcome: 'finished', reply: reply.text, ...spent.used }
    : { outcome: 'unfinished', ...spent.used }
}

/**
 * A person has continued the session in claude itself: the rest is not of this turn. Each entry of a user names the prompt that it
 * belongs to. Claude's own texts (`isMeta`) and tool results do not count.
 */
function isLaterPrompt(entry: JsonObject, { promptId }: JsonObject): boolean {
  if (entry.type !== 'user' || entry.isSidechain === true || entry.isMeta === true) return false
  const isResult = objectsOf(objectOf(entry.message)?.content).some(({ type }) => type === 'tool_result')
  return !isResult && entry.promptId !== undefined && promptId !== undefined && entry.promptId !== promptId
}

/** The tool results of the turn, including those of subagents. */
class Results {
  private readonly unheard: Unheard
  /** Call ids of substrat's tools. */
  private readonly own = new Set<string>()

  constructor(private readonly heard: HeardOfTurn | undefined) {
    this.unheard = new Unheard(heard)
  }

  take({ message }: JsonObject): void {
    for (const block of objectsOf(objectOf(message)?.content)) {
      const id = textOf(block.id)
      const isOwn = textOf(block.name)?.startsWith(`mcp__${this.heard?.server}__`)
      if (block.type === 'tool_use' && id !== undefined && isOwn) this.own.add(id)
      const callId = block.type === 'tool_result' ? textOf(block.tool_use_id) : undefined
      if (callId === undefined) continue
      if (this.own.has(callId)) this.unheard.answer()
      else this.unheard.result(callId, block.is_error === true)
    }
  }

  get areUnheard(): boolean {
    return this.unheard.isAny
  }
}

/** The model's latest message. */
interface Reply {
  messageId: string | undefined
  text: string
  /** The model ended the message itself, without a tool call. */
  isFinal: boolean
}

const FINAL = ['end_turn', 'stop_sequence', 'refusal']

function afterEntry(before: Reply | undefined, entry: JsonObject): Reply | undefined {
  // A subagent's message.
  if (entry.isSidechain === true) return before
  // The model must still answer this message: a tool result, `[Request interrupted by user]`, or claude's own text
  // (`isMeta`), such as a Stop hook that continues the turn.
  if (entry.type === 'user') return undefined
  if (entry.type !== 'assistant') return before
  const message = objectOf(entry.message) ?? {}
  // Claude wrote this instead of the model: an API error, or nothing.
  if (message.model === '<synthetic>') return undefined
  // Each block of a message is its own entry.
  const messageId = textOf(message.id)
  const isMore = before !== undefined && messageId !== undefined && before.messageId === messageId
  const text = objectsOf(message.content).map(
    (block) => (block.type === 'text' ? textOf(block.text) : '') ?? '',
  )
  return {
    messageId,
    text: (isMore ? before.text : '') + text.join(''),
    isFinal: FINAL.includes(String(message.stop_reason)),
  }
}

function parsedLine(line: string): JsonObject | undefined {
  try {
    return objectOf(parseJson(line))
  } catch {
    return undefined
  }
}
