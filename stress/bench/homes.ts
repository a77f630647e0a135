/** Large homes, made quickly: the product's own bytes, written without its syncs. */
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { encodeBatch } from '../../src/session/batch.js'
import { openForRead } from '../../src/session/open-for-read.js'
import type { NewRecord } from '../../src/session/records.js'
import { encodeSnapshot } from '../../src/session/snapshot.js'
import type { State } from '../../src/session/state.js'
import { frame } from '../../src/storage/frame.js'
import { bootId } from '../../src/storage/identity.js'
import { HomePaths } from '../../src/storage/paths.js'
import { FileStore } from '../../src/storage/store.js'
import { createdRecord } from '../../src/tree/created.js'
import { resolveAgent } from '../../src/tree/names.js'
import { step, withRest } from '../../src/turn/step.js'
import type { ToolPolicy } from '../../src/turn/turn-event.js'

/** Nothing here calls a tool. */
const NO_TOOLS: ToolPolicy = { kindOf: () => 'unknown' }

const CHUNK_BYTES = 8 * 1024 * 1024

/**
 * Turns of the same message until the agent's log has so many records. The snapshot stays behind, as after a kill: the
 * next command folds all of it once.
 */
export function lengthenLog(home: string, name: string, recordsMin: number): number {
  const store = FileStore.openForRead(home) as FileStore
  const id = resolveAgent(store, name)
  let state = openForRead(store, id)?.state as State
  let chunk: Buffer[] = []
  let chunkBytes = 0
  const flush = (): void => {
    appendFileSync(store.logPath(id), Buffer.concat(chunk))
    chunk = []
    chunkBytes = 0
  }
  const append = (records: NewRecord[]): void => {
    const batch = encodeBatch(state, records)
    state = batch.state
    chunkBytes += chunk[chunk.push(batch.bytes) - 1]?.length ?? 0
    if (chunkBytes > CHUNK_BYTES) flush()
  }
  while (state.last_seq < recordsMin) {
    append(question(state))
    append(answer(state))
  }
  flush()
  store.mark(id)
  return state.last_seq
}

/** Idle roots with a name and no turn yet. */
export function addAgents(home: string, count: number, workspace: string): void {
  for (let index = 0; index < count; index++) addAgent(home, { name: `agent-${index}`, workspace })
}

/** So many roots, `p0` and so on, with so many children each: `p0/c0`. */
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
  for (const [path, content] of files) writeFileSync(path, content, { mode: 0o600 })
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

const MESSAGE = 'What is open, and what should be done about it first?'

function question(state: State): NewRecord[] {
  const run = {
    run_id: randomUUID(),
    boot_id: bootId(),
    prompt: { origin: 'operator' as const, content: MESSAGE },
    key: null,
    digest: null,
    turn_timeout_ms: null,
    allow: [],
    steps_max: null,
    sources: [],
  }
  return step(state, { type: 'begin', provider: 'model', run }, NO_TOOLS).records
}

function answer(state: State): NewRecord[] {
  const usage = { input_tokens: 11, output_tokens: 12 }
  const event = {
    type: 'model_responded' as const,
    reply: `echo: ${MESSAGE}`,
    stop: 'end' as const,
    usage,
    calls: [],
  }
  return withRest(state, step(state, event, NO_TOOLS).records)
}
