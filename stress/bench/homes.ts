/** Makes large homes quickly: the same bytes as the product, written without fsync. */
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { bootId } from '../../src/host/identity.js'
import { encodeBatch } from '../../src/session/batch.js'
import { digestOf } from '../../src/session/ids.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import { HomePaths } from '../../src/storage/paths.js'
import { createdRecord } from '../../src/tree/created.js'
import { resolveAgent } from '../../src/tree/names.js'
import { step, withSuspension } from '../../src/turn/step/step.js'
import type { ToolPolicy } from '../../src/turn/step/turn-event.js'
import { encodeSnapshot } from '../../test/support/snapshots.js'
import type { Lab } from '../support/lab.js'

/** No turn here calls a tool. */
const NO_TOOLS: ToolPolicy = { kindOf: () => 'unknown' }

const CHUNK_BYTES = 8 * 1024 * 1024

/**
 * Appends turns until the log has that many records, by default with the same message. The snapshot stays behind, as after a kill:
 * the next command folds the rest once.
 */
export function lengthenLog(
  home: string,
  name: string,
  recordsMin: number,
  keyOf: (turn: number) => string | null = () => null,
  messageOf: (turn: number) => string = () => MESSAGE,
): number {
  const store = FileStore.openForRead(home) as FileStore
  const id = resolveAgent(store, name)
  let state = openForRead(store, id)?.state as State
  let chunk: Buffer[] = []
  let chunkBytes = 0
  const flush = (): void => {
    appendFileSync(store.local.logPath(id), Buffer.concat(chunk))
    chunk = []
    chunkBytes = 0
  }
  const append = (records: NewRecord[]): void => {
    const batch = encodeBatch(state, records)
    state = batch.state
    chunkBytes += chunk[chunk.push(batch.bytes) - 1]?.length ?? 0
    if (chunkBytes > CHUNK_BYTES) flush()
  }
  for (let turn = 0; state.last_seq < recordsMin; turn++) {
    const message = messageOf(turn)
    append(question(state, keyOf(turn), message))
    append(answer(state, message))
  }
  flush()
  store.visits.mark(id)
  return state.last_seq
}

/** The bytes of turns with these keys, to be appended to the log that folds to `state`. */
export function turnsBehind(state: State, keys: string[]): Buffer {
  let next = state
  const batches = keys.flatMap((key) =>
    [(before: State) => question(before, key), answer].map((records) => {
      const batch = encodeBatch(next, records(next))
      next = batch.state
      return batch.bytes
    }),
  )
  return Buffer.concat(batches)
}

/** `a-0000000` after one turn, and copies of it, in the state after the first `recover --all`. */
export async function homeOf(lab: Lab, agents: number): Promise<string> {
  const home = lab.newHome()
  await lab.do(home, 'spawn', '--name', 'a-0000000')
  await lab.do(home, 'send', 'a-0000000', 'hello')
  multiply(home, 'a-0000000', agents - 1)
  FileStore.openForWrite(home).visits.markComplete()
  return home
}

/** The files of an agent that a visit changes. */
export interface Kept {
  id: string
  files: [path: string, bytes: Buffer][]
}

/** Restores the files and the marker: the agent looks killed again. */
export function putBack(home: string, kept: Kept[]): void {
  const store = FileStore.openForWrite(home)
  for (const { id, files } of kept) {
    for (const [path, bytes] of files) write(path, bytes)
    store.visits.mark(id)
  }
}

/**
 * Makes that many copies of the named root, which has had a turn: `NAME-0000001` and so on. The ids and names in its
 * files are replaced, and each line gets a new checksum.
 */
export function multiply(home: string, name: string, count: number): Kept[] {
  const paths = new HomePaths(home)
  const store = FileStore.openForRead(home) as FileStore
  const id = resolveAgent(store, name)
  const like = paths.agent(id)
  // Names of equal length keep every offset of the snapshot valid.
  const nameOf = (index: number): string => `${name.slice(0, -8)}-${String(index).padStart(7, '0')}`
  const [log, snapshot] = [like.log, like.snapshot].map((path) => readFileSync(path)) as [Buffer, Buffer]
  const [lock, isMarked] = [readFileSync(like.lock), store.visits.isMarked(id)]
  const made: Kept[] = []
  for (let index = 1; index <= count; index++) {
    const to = { id: randomUUID(), name: nameOf(index) }
    const agent = paths.agent(to.id)
    const names = agent.childNames()
    for (const directory of [agent.root, agent.inbox, agent.blobs, agent.requests, names.directory])
      mkdirSync(directory, 0o700)
    const withIdentityOf = (bytes: Buffer): Buffer => withOtherName(bytes, { id, name }, to)
    const files: Kept['files'] = [
      [agent.log, withIdentityOf(log)],
      [agent.snapshot, withIdentityOf(snapshot)],
    ]
    for (const [path, bytes] of files) write(path, bytes)
    write(agent.lock, lock)
    write(names.complete, '')
    write(paths.rootNames().entry(to.name), frame({ name: to.name, agent_id: to.id }))
    if (isMarked) store.visits.mark(to.id)
    // Leaves out idle agents: they are very many, and never restored.
    if (isMarked) made.push({ id: to.id, files })
  }
  return made
}

/** Replaces the named agent in framed lines by another. */
function withOtherName(lines: Buffer, from: Named, to: Named): Buffer {
  const texts = lines.toString('utf8').split('\n').slice(0, -1)
  return Buffer.concat(
    texts.map((text) => {
      const withIdentityOf = text.replaceAll(from.id, to.id).replaceAll(`"${from.name}"`, `"${to.name}"`)
      const { crc: _, ...object } = JSON.parse(withIdentityOf) as { crc: string }
      return frame(object)
    }),
  )
}

interface Named {
  id: string
  name: string
}

function write(path: string, content: Buffer | string): void {
  writeFileSync(path, content, { mode: 0o600 })
}

/** Adds that many roots, `p0` and so on, each with that many children: `p0/c0`. */
export function addFamilies(home: string, parents: number, childrenEach: number, workspace: string): void {
  for (let index = 0; index < parents; index++) {
    const parent = { name: `p${index}`, id: addAgent(home, { name: `p${index}`, workspace }) }
    for (let child = 0; child < childrenEach; child++)
      addAgent(home, { name: `c${child}`, workspace, parent })
  }
}

interface Idle {
  name: string
  workspace: string
  parent?: { name: string; id: string }
}

function addAgent(home: string, idle: Idle): string {
  const paths = new HomePaths(home)
  const { name, parent } = idle
  const id = randomUUID()
  const { bytes, state } = encodeBatch(undefined, [birth(id, idle)])
  const agent = paths.agent(id)
  const children = agent.childNames()
  for (const directory of [agent.root, agent.inbox, agent.blobs, agent.requests, children.directory])
    mkdirSync(directory, 0o700)
  const siblings = parent === undefined ? paths.rootNames() : paths.agent(parent.id).childNames()
  const files: [string, Buffer | string][] = [
    [agent.log, bytes],
    [agent.snapshot, encodeSnapshot(state)],
    [agent.lock, ''],
    [children.complete, ''],
    [siblings.entry(name), frame({ name, agent_id: id })],
  ]
  for (const [path, content] of files) write(path, content)
  return id
}

function birth(id: string, { name, workspace, parent }: Idle): NewRecord {
  return createdRecord({
    id,
    name,
    parent: parent?.id ?? null,
    path: parent === undefined ? name : `${parent.name}/${name}`,
    instructions: null,
    provider: 'scripted',
    options: {},
    model: null,
    workspace,
    allow: [],
  })
}

export const MESSAGE = 'What is open, and what should be done about it first?'

function question(state: State, key: string | null = null, message = MESSAGE): NewRecord[] {
  const run = {
    run_id: randomUUID(),
    boot_id: bootId(),
    prompt: { origin: 'operator' as const, content: message },
    key,
    digest: key === null ? null : digestOf(message),
    turn_timeout_ms: null,
    allow: [],
    steps_max: null,
    sources: [],
  }
  return step(state, { type: 'begin', provider: 'model', run }, NO_TOOLS).records
}

function answer(state: State, message = MESSAGE): NewRecord[] {
  const usage = { input_tokens: 11, output_tokens: 12 }
  const event = {
    type: 'model_responded' as const,
    reply: `echo: ${message}`,
    stop: 'end' as const,
    usage,
    calls: [],
  }
  return withSuspension(state, step(state, event, NO_TOOLS).records)
}
