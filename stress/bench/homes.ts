/** Large homes, made quickly: the product's own bytes, written without its syncs. */
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { encodeBatch } from '../../src/session/batch.js'
import { openForRead } from '../../src/session/open-for-read.js'
import type { NewRecord } from '../../src/session/records.js'
import { encodeSnapshot } from '../../src/session/snapshot.js'
import type { State } from '../../src/session/state.js'
import { frame } from '../../src/storage/frame.js'
import { FORMAT } from '../../src/storage/home.js'
import { bootId } from '../../src/storage/identity.js'
import { HomePaths } from '../../src/storage/paths.js'
import { FileStore } from '../../src/storage/store.js'
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

/** Idle agents with a name and no turn yet, until the home has so many. */
export function addAgents(home: string, count: number, workspace: string): void {
  const paths = new HomePaths(home)
  for (let index = 0; index < count; index++) {
    const id = randomUUID()
    const name = `agent-${index}`
    const { bytes, state } = encodeBatch(undefined, [birth(id, name, workspace)])
    const agent = paths.agent(id)
    for (const directory of [agent.root, agent.inbox, agent.blobs, agent.requests])
      mkdirSync(directory, 0o700)
    writeFileSync(agent.log, bytes, { mode: 0o600 })
    writeFileSync(agent.snapshot, encodeSnapshot(state), { mode: 0o600 })
    writeFileSync(agent.lock, '', { mode: 0o600 })
    writeFileSync(paths.rootNames().entry(name), frame({ name, agent_id: id }), { mode: 0o600 })
  }
}

function birth(id: string, name: string, workspace: string): NewRecord {
  return {
    kind: 'session.created',
    agent_id: id,
    format: FORMAT,
    name,
    parent: null,
    instructions: null,
    provider: 'scripted',
    options: {},
    model: null,
    workspace,
  }
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
