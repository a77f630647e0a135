/** The homes that scenarios start from. */

import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FORMAT } from '../../src/format.js'
import { openForRead } from '../../src/session/open-for-read.js'
import type { HomeFacts } from '../../src/storage/home.js'
import { frame } from '../../src/storage/log/frame.js'
import { FileStore } from '../../src/storage/store.js'
import { resolveAgent } from '../../src/tree/names.js'
import type { Lab } from '../support/lab.js'
import type { ScriptedEntry, ScriptedTool } from '../turns/agent.js'
import type { Scenario } from './scenario.js'

/** An agent `a` that had a turn. */
export async function withAgent(lab: Lab, home: string, ...flags: string[]): Promise<undefined> {
  await lab.do(home, 'spawn', '--name', 'a', ...flags)
  await lab.do(home, 'send', 'a', 'earlier')
  // From now on `recover --all` goes by the markers alone.
  await lab.do(home, 'recover', '--all')
}

/** An agent `a` whose model says this from its second turn on. */
export function withScript(
  lab: Lab,
  home: string,
  responses: ScriptedEntry[],
  ...flags: string[]
): Promise<undefined> {
  return withAgent(lab, home, ...scripted(lab, [{}, ...responses]), ...flags)
}

let scripts = 0

/** The flags that make a model say this. */
export function scripted(lab: Lab, responses: ScriptedEntry[]): string[] {
  scripts += 1
  const file = `script-${scripts}.json`
  writeFileSync(join(lab.workspace, file), JSON.stringify({ responses }))
  return ['--option', `scenario=${file}`]
}

export function calls(...tools: [name: string, input: ScriptedTool['input']][]): ScriptedEntry {
  return { tools: tools.map(([name, input]) => ({ name, input })) }
}

export interface FamilyScripts {
  lead?: ScriptedEntry[]
  kid?: ScriptedEntry[]
}

/** `lead` with a child `kid`. */
export async function withFamily(lab: Lab, home: string, scripts: FamilyScripts = {}): Promise<undefined> {
  const flags = ['--allow', 'tree']
  await lab.do(home, 'spawn', '--name', 'lead', ...flags, ...scripted(lab, scripts.lead ?? []))
  await lab.do(
    home,
    'spawn',
    '--parent',
    'lead',
    '--name',
    'kid',
    ...flags,
    ...scripted(lab, scripts.kid ?? []),
  )
  await lab.do(home, 'recover', '--all')
}

/** As on a machine where the add-on for the other kind of lock does not load. */
export function makeFlockHome(home: string): void {
  mkdirSync(home, { mode: 0o700 })
  const created_at = '2026-11-20T10:00:00.000Z'
  const facts: HomeFacts = { format: FORMAT, home_id: randomUUID(), lock: 'flock', created_at }
  writeFileSync(join(home, 'home.json'), frame(facts), { mode: 0o600 })
}

const TURN_MS = 1500

/** Another process asks the model; it is asked to stop, or, where the command died first, goes on to its end. */
export const withRunningTurn: Pick<Scenario, 'prepare' | 'meanwhile'> = {
  prepare: withSlowModel,
  async meanwhile(lab, home) {
    const turn = lab.run(home, ['send', 'a', 'slow'])
    await untilAsked(home, 'a')
    return async () => void (await turn)
  },
}

/** It says `late` from its second turn on. */
export function withSlowModel(lab: Lab, home: string): Promise<undefined> {
  return withScript(lab, home, [{ delay_ms: TURN_MS, say: 'late' }])
}

/** Until another process has its model answering, or there is none any more. */
export async function untilAsked(home: string, name: string, isOver = () => false): Promise<void> {
  const store = FileStore.openForRead(home) as FileStore
  const id = resolveAgent(store, name)
  while (!isOver() && openForRead(store, id)?.state.run?.phase !== 'asked') await sleep(5)
}
