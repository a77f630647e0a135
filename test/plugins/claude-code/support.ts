/** Shared by the tests of provider-claude-code: the built plugin, and the stand-in for claude. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach } from 'vitest'
import type { AgentSession, ProviderFailure, ProviderSettings } from '../../../src/provider/contract.js'
import type { AgentHost, ToolServer } from '../../../src/provider/host-contract.js'
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

/** A host like substrat's. All that it launched is killed after the test. */
export function newHost(tools: ToolServer | null = null): AgentHost {
  return { ...recordedHost().host, tools }
}

export function newSession(given = settings(), host = newHost()): Promise<AgentSession> {
  return claude.create(given, host)
}

/** Runs one turn of a new session. */
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

/** The latest state that was yielded. */
export function stateIn({ events }: Turn): Uint8Array {
  const state = events.findLast((event) => event.type === 'state')?.state
  if (state === undefined) throw new Error('no state went out')
  return state
}

export function decoded(state: Uint8Array | null): Record<string, unknown> {
  return JSON.parse(Buffer.from(state ?? []).toString('utf8')) as Record<string, unknown>
}

/** The arguments of the latest start of the stand-in. */
export function started(): {
  argv: string[]
  /** The content of the file. */
  instructions: string | null
  instructions_file?: string
} {
  return JSON.parse(readFileSync(join(directory, 'started.json'), 'utf8'))
}

/** The responses to its permission requests, and other messages that it received during a turn. */
export function answersGiven(): unknown[] {
  return notes('answers')
}

/** Kills the processes that the stand-in has left on purpose. */
export function endGrandchild(): void {
  for (const pid of notes('grandchild')) process.kill(Number(pid), 'SIGKILL')
}

/** The notes of the stand-in. */
export function notes(name: string): unknown[] {
  const path = join(directory, name)
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as unknown)
}

/** Removes the transcripts, as a user who cleans up would. */
export function forgetSessions(): void {
  rmSync(join(directory, 'projects'), { recursive: true, force: true })
}

/** Puts a transcript of the real claude in place; `change` makes it one that a crash left. */
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
