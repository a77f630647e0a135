/** The homes that scenarios start from. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FORMAT } from '../../src/format.js'
import * as io from '../../src/host/disk/io.js'
import { createWhole } from '../../src/host/disk/replace.js'
import type { HomeFacts } from '../../src/schema/files.js'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import { openHome } from '../../src/storage/open.js'
import type { Store } from '../../src/storage/store.js'
import { resolveAgent } from '../../src/tree/names.js'
import type { ScriptedEntry, ScriptedTool } from '../turns/agent.js'
import type { Scenario } from './scenario.js'
import type { Stage } from './stage.js'

/** The flags of an agent whose turns a program runs. */
export const EXEC = ['--provider', 'exec', '--option', 'command=cat >/dev/null; echo done']

/** More than one line of the log holds. */
export const LARGE = 'large '.repeat(15_000)

/** An agent `a` that had a turn. */
export async function withAgent(stage: Stage, ...flags: string[]): Promise<undefined> {
  await stage.do('spawn', '--name', 'a', ...flags)
  await stage.do('send', 'a', 'earlier')
  // From now on `recover --all` relies on the markers alone.
  await stage.do('recover', '--all')
}

/** An agent `a` whose model follows this script from its second turn on. */
export function withScript(stage: Stage, responses: ScriptedEntry[], ...flags: string[]): Promise<undefined> {
  return withAgent(stage, ...stage.script([{}, ...responses]), ...flags)
}

export function calls(...tools: [name: string, input: ScriptedTool['input']][]): ScriptedEntry {
  return { tools: tools.map(([name, input]) => ({ name, input })) }
}

export interface FamilyScripts {
  lead?: ScriptedEntry[]
  kid?: ScriptedEntry[]
}

/** `lead` with a child `kid`. */
export async function withFamily(stage: Stage, scripts: FamilyScripts = {}): Promise<undefined> {
  const flags = ['--allow', 'tree']
  await stage.do('spawn', '--name', 'lead', ...flags, ...stage.script(scripts.lead ?? []))
  const kid = ['--parent', 'lead', '--name', 'kid', '--provider', 'scripted']
  await stage.do('spawn', ...kid, ...flags, ...stage.script(scripts.kid ?? []))
  await stage.do('recover', '--all')
}

/** A home as on a machine where the native lock add-on does not load. */
export function makeFlockHome(home: string): void {
  if (!existsSync(home)) mkdirSync(home, { mode: 0o700 })
  const created_at = '2026-11-20T10:00:00.000Z'
  const facts: HomeFacts = { format: FORMAT, home_id: randomUUID(), lock: 'flock', created_at }
  writeFileSync(join(home, 'home.json'), frame(facts), { mode: 0o600 })
}

/** The bytes of home.json with another id. */
export function homeFileOfAnother(path: string): Buffer {
  const { crc: _, ...facts } = JSON.parse(readFileSync(path, 'utf8')) as HomeFacts & { crc: string }
  return Buffer.from(frame({ ...facts, home_id: randomUUID() }))
}

/** Copies a home that an earlier program made, in steps on the disk that the labs can see. `empty`: directories to add. */
export async function copyHomeIn(stage: Stage, source: string, empty: string[] = []): Promise<undefined> {
  const entries = readdirSync(source, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(source, join(entry.parentPath, entry.name)))
  const above = (path: string): string[] => (path === '.' ? [] : [...above(dirname(path)), path])
  const others = entries.filter((entry) => entry.isDirectory())
  const directories = new Set([
    '.',
    ...files.flatMap((file) => above(dirname(file))),
    ...others.flatMap((entry) => above(relative(source, join(entry.parentPath, entry.name)))),
    ...empty.flatMap(above),
  ])
  await stage.act(async () => {
    for (const directory of directories) io.mkdir('home.mkdir', join(stage.home, directory))
    for (const file of files)
      createWhole('home.create', join(stage.home, file), readFileSync(join(source, file)))
    for (const directory of directories) io.syncDirectory('home.sync_directory', join(stage.home, directory))
    io.syncDirectory('home.sync_directory', dirname(stage.home))
  })
}

/** Another process runs the turn. It gets a stop request, or completes the turn if the command dies first. */
export const withRunningTurn: Pick<Scenario, 'prepare' | 'meanwhile'> = {
  prepare: withSlowModel,
  async meanwhile(stage) {
    const turn = stage.run(['send', 'a', 'slow'])
    await untilAsked(stage, 'a')
    return () => turn
  },
}

/** Its model says `late` from the second turn on. */
export function withSlowModel(stage: Stage): Promise<undefined> {
  return withScript(stage, [{ delay_ms: stage.thinkingMs, say: 'late' }])
}

/** Waits until another process is in a model request, or until `isOver`. */
export async function untilAsked({ home }: Stage, name: string, isOver = () => false): Promise<void> {
  while (!isOver() && stateOf(home, name).run?.phase !== 'asked') await sleep(5)
}

export function stateOf(home: string, name: string): State {
  const store = openHome(home) as Store
  return openForRead(store, resolveAgent(store, name))?.state as State
}

/** The file of the log. */
export function logOf(home: string, name: string): string {
  const store = FileStore.openForRead(home) as FileStore
  return store.local.logPath(resolveAgent(store, name))
}

/** The process dies after it stored the message and began the model request. */
export function leaveAsked(stage: Stage, name: string, content: string): Promise<void> {
  return stage.killedBefore('log.append', 2, ['send', name, content])
}
