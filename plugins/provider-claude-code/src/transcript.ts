/** Claude's own record of a session: `projects/<folder of the workspace>/<session id>.jsonl` below its directory. */
import { createReadStream, existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { HeardOfTurn, Inspection, JsonObject } from 'substrat/provider'
import { readLines } from '../../shared/src/program/framing.js'
import { Unheard } from '../../shared/src/program/heard.js'
import { objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'
import { parseJson } from '../../shared/src/program/parse.js'
import type { ClaudeState } from './state.js'

const LINE_BYTES_MAX = 32 * 1024 * 1024

/** Where claude keeps everything. */
export function claudeDirectory(environment: NodeJS.ProcessEnv): string {
  const given = environment.CLAUDE_CONFIG_DIR
  return given === undefined || given === '' ? join(environment.HOME || homedir(), '.claude') : given
}

/** Its path; undefined where there is none. */
export function findTranscript(sessionId: string, environment: NodeJS.ProcessEnv): string | undefined {
  const projects = join(claudeDirectory(environment), 'projects')
  // How claude names the folder of a workspace is its own affair, and has changed: every one is looked into.
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
 * Whether the latest turn came to its end, as far as the transcript has it. Torn and foreign lines are passed over. `heard`:
 * what the turn's substrat lived to see, where it is dead.
 */
export async function inspectTranscript(
  { sessionId, promptId }: ClaudeState,
  environment: NodeJS.ProcessEnv,
  heard?: HeardOfTurn,
): Promise<Inspection> {
  if (promptId === null) return { outcome: 'unknown' }
  const path = findTranscript(sessionId, environment)
  if (path === undefined) return { outcome: 'unfinished' }
  let hasBegun = false
  let reply: Reply | undefined
  const results = new Results(heard)
  try {
    for await (const line of readLines(createReadStream(path), LINE_BYTES_MAX)) {
      // Most of a long transcript is before the turn.
      if (line === undefined || (!hasBegun && !line.includes(promptId))) continue
      const entry = parsedLine(line)
      if (entry === undefined) continue
      if (entry.uuid === promptId) hasBegun = true
      else if (hasBegun) {
        reply = afterEntry(reply, entry)
        results.take(entry)
      }
    }
  } catch {
    return { outcome: 'unknown' }
  }
  return reply?.isFinal === true && !results.areUnheard
    ? { outcome: 'finished', reply: reply.text }
    : { outcome: 'unfinished' }
}

/** The results of the turn's tools, those of sub-agents among them. */
class Results {
  private readonly unheard: Unheard
  /** Calls of substrat's tools. */
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

/** What the model said last. */
interface Reply {
  messageId: string | undefined
  text: string
  /** It stopped by itself, with nothing left to do. */
  isFinal: boolean
}

const FINAL = ['end_turn', 'stop_sequence', 'refusal']

function afterEntry(before: Reply | undefined, entry: JsonObject): Reply | undefined {
  // Of a sub-agent.
  if (entry.isSidechain === true) return before
  // An unanswered result of a tool, `[Request interrupted by user]`, or what claude itself tells the model (`isMeta`): a hook
  // that does not let it stop yet.
  if (entry.type === 'user') return undefined
  if (entry.type !== 'assistant') return before
  const message = objectOf(entry.message) ?? {}
  // Claude's own words in the place of the model's: an error of the API, or nothing to say.
  if (message.model === '<synthetic>') return undefined
  // The blocks of one message are entries of their own.
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
