/** Shared by the tests of provider-codex: the built plugin, and the stand-in for codex. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { AgentSession, ProviderFailure, ProviderSettings } from '../../src/provider/contract.js'
import type { AgentHost, ToolServer } from '../../src/provider/host-contract.js'
import { killOrphanedGroup } from '../../src/provider/process-group.js'
import { createHost } from '../../src/provider/program.js'
import type { ProcessGroup } from '../../src/schema/types.js'
import { type Turn, type TurnGiven, turn as turnOf } from './agent-turn.js'
import { builtProvider } from './built.js'
import { pluginPart } from './plugin-part.js'

export { replyIn, type Turn, typesOf } from './agent-turn.js'

const _REPOSITORY = join(import.meta.dirname, '../..')
export const codex = await builtProvider('provider-codex')

/** A module of the plugin, with a clock that the test sets. */
export const { codexFailure } = await pluginPart<{
  codexFailure(said: string, now?: number): ProviderFailure
}>('provider-codex/src/failure')

export const RECORDED = join(import.meta.dirname, 'codex')
export const FIRST_THREAD = '01a1f9b0-6fba-75f2-91e5-cc0dddb2b092'

/** Codex's home and workspace, new for each test. */
export const place = { home: '', workspace: '' }
const homes: string[] = []
beforeEach(() => {
  place.home = mkdtempSync(join(tmpdir(), 'substrat-codex-home-'))
  place.workspace = mkdtempSync(join(tmpdir(), 'substrat-codex-workspace-'))
  homes.push(place.home, place.workspace)
  process.env.CODEX_HOME = place.home
})
afterEach(() => {
  for (const directory of homes.splice(0)) rmSync(directory, { recursive: true, force: true })
  delete process.env.CODEX_HOME
})

/** `how`: arguments for the stand-in itself. */
export function settingsFor(how = '', options: Record<string, string> = {}): ProviderSettings {
  const command = `${process.execPath} ${join(RECORDED, 'stand-in.mjs')} ${how}`
  return { workspace: place.workspace, model: null, instructions: null, options: { command, ...options } }
}

export interface Lab {
  host: AgentHost
  /** The process groups that it launched. */
  groups: ProcessGroup[]
}

/** A host like substrat's. No program that it launched may be left after the test. */
export function newLab(tools: ToolServer | null = null): Lab {
  const run = randomUUID()
  const groups: ProcessGroup[] = []
  const environment = {
    SUBSTRAT_RUN: run,
    SUBSTRAT_AGENT: run,
    SUBSTRAT_HOME: '/none',
    SUBSTRAT_LOG: '/none',
  }
  const host = createHost({ environment, tools, record: (group) => void groups.push(group) })
  afterTest.push(async () => {
    for (const group of groups) {
      const outcome = await killOrphanedGroup(group, run)
      if (outcome !== 'gone') throw new Error(`a program is left: ${outcome}`)
    }
  })
  return { host, groups }
}

const afterTest: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const check of afterTest.splice(0)) await check()
})

export function turn(session: AgentSession, prompt = 'hello there', given: TurnGiven = {}): Promise<Turn> {
  return turnOf(session, prompt, given)
}

/** Runs one turn of a new session. */
export async function firstTurn(
  how = '',
  options: Record<string, string> = {},
  prompt?: string,
  given?: TurnGiven,
): Promise<Turn> {
  return turn(await codex.create(settingsFor(how, options), newLab().host), prompt, given)
}

export function failureIn({ error }: Turn): { type?: string; retry_after_ms?: number; message?: string } {
  const { failure, message } = (error ?? {}) as { failure?: object; message?: string }
  return { ...failure, message }
}

/** The usage of one turn of the stand-in. */
export const USED = {
  input_tokens: 11,
  output_tokens: 7,
  cache_read_tokens: 3,
  cache_write_tokens: 0,
  reasoning_tokens: 2,
}

export function usagesIn({ events }: Turn): object[] {
  return events.flatMap((event) => (event.type === 'usage' ? [event.usage] : []))
}

/** The latest state that was yielded. */
export function stateIn({ events }: Turn): Uint8Array {
  const state = events.filter((event) => event.type === 'state').at(-1)?.state
  if (state === undefined) throw new Error('no state')
  return state
}

interface Seen {
  argv: string[]
  flags: { config: string[]; resume?: string; [flag: string]: unknown }
  env: Record<string, string>
  prompt: string
}

/** The arguments and input of the stand-in: see `--seen` in `settingsFor`. */
export function seen(): Seen {
  return JSON.parse(readFileSync(seenFile(), 'utf8').split('\n')[0] as string)
}

export function seenFile(): string {
  return join(place.home, 'seen')
}
