/** What the tests of provider-claude-code share: the plugin as it is published, and the program that stands in for claude. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach } from 'vitest'
import type { AgentSession, ProviderFailure, ProviderSettings } from '../../../src/provider/contract.js'
import type { AgentHost, McpStdioServer } from '../../../src/provider/host-contract.js'
import { recordedHost } from '../../support/programs.js'
import { type Turn, type TurnGiven, turn } from '../agent-turn.js'
import { builtProvider, folder } from '../built.js'

export { gathered, optionsOf, replyIn, type Turn, type TurnGiven, turn, typesOf } from '../agent-turn.js'

export const claude = await builtProvider('provider-claude-code')

const STAND_IN = join(import.meta.dirname, 'stand-in.mjs')
export const RESETS_AT = Math.floor(Date.now() / 1000) + 7200
process.env.STAND_IN_RESETS_AT = String(RESETS_AT)

/** Claude's directory, new for each test. */
let directory = ''
let directories = 0
beforeEach(() => {
  directories += 1
  directory = join(folder, `claude-${directories}`)
  mkdirSync(directory)
  process.env.CLAUDE_CONFIG_DIR = directory
})

export function settings(
  options: Record<string, string> = {},
  more: Partial<ProviderSettings> = {},
): ProviderSettings {
  return {
    workspace: folder,
    model: null,
    instructions: null,
    options: { command: STAND_IN, ...options },
    ...more,
  }
}

/** A host as substrat's own; what it launches is dead when the test is over. */
export function newHost(tools: McpStdioServer | null = null): AgentHost {
  return { ...recordedHost().host, tools }
}

export function newSession(given = settings(), host = newHost()): Promise<AgentSession> {
  return claude.create(given, host)
}

/** One turn of a new session. */
export async function firstTurn(prompt: string, given: TurnGiven = {}): Promise<Turn> {
  return turn(await newSession(), prompt, given)
}

export function failureIn({ error }: Turn): ProviderFailure['failure'] & { message: string } {
  const { failure, message } = error as ProviderFailure
  return { ...failure, message }
}

export function textIn({ events }: Turn): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('')
}

/** The latest state that went out. */
export function stateIn({ events }: Turn): Uint8Array {
  const state = events.findLast((event) => event.type === 'state')?.state
  if (state === undefined) throw new Error('no state went out')
  return state
}

export function decoded(state: Uint8Array | null): Record<string, unknown> {
  return JSON.parse(Buffer.from(state ?? []).toString('utf8')) as Record<string, unknown>
}

/** How the stand-in was started last. */
export function started(): {
  argv: string[]
  /** What was in the files. */
  mcp: string | null
  instructions: string | null
  mcp_file?: string
  /** Its variables that say whether, and how long, it waits for servers of tools. */
  waits: (string | null)[]
} {
  return JSON.parse(readFileSync(join(directory, 'started.json'), 'utf8'))
}

/** The responses to its requests for permission, and what else it was told in the middle of a turn. */
export function answersGiven(): unknown[] {
  return notes('answers')
}

/** Ends what the stand-in has left behind on purpose. */
export function endGrandchild(): void {
  for (const pid of notes('grandchild')) process.kill(Number(pid), 'SIGKILL')
}

/** What the stand-in has written down. */
export function notes(name: string): unknown[] {
  const path = join(directory, name)
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as unknown)
}

/** As a person who cleans up would. */
export function forgetSessions(): void {
  rmSync(join(directory, 'projects'), { recursive: true, force: true })
}

/** A transcript of the real claude in its place; `change` makes it one that a crash left. */
export function transcriptPath(sessionId: string): string {
  const projects = join(directory, 'projects', '-tmp-somewhere')
  mkdirSync(projects, { recursive: true })
  return join(projects, `${sessionId}.jsonl`)
}

export function useTranscript(name: string, sessionId: string): string {
  const path = transcriptPath(sessionId)
  cpSync(join(import.meta.dirname, 'transcripts', `${name}.jsonl`), path)
  return path
}
