/** `deliver` of many agents, which worker processes share. */
import { describe, expect, test } from 'vitest'
import { FileStore } from '../../src/storage/file-store.js'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { posted } from '../support/mail.js'
import { commandLine, processesWith } from '../support/processes.js'
import { waitFor } from '../support/wait.js'

const AGENTS = 16
const REQUESTS_EACH = 2

interface Crowd {
  house: House
  ids: string[]
  /** The agent whose program waits at the gate. */
  gated: string
  /** The names of all agents, the gated one first: `deliver` gives the first ones to a worker. */
  names: string[]
  gate: Gate
}

async function crowd(): Promise<Crowd> {
  const house = new House()
  const gate = new Gate(house, 'gate')
  const gated = await house.spawn('gated', ...gate.flags)
  const names = ['gated']
  for (let index = 1; index < AGENTS; index++) names.push(`a${index}`)
  for (const name of names.slice(1)) await house.spawn(name)
  const store = FileStore.openForWrite(house.home)
  const ids = store.agentIds()
  for (const content of ['one', 'two']) for (const id of ids) posted(store, id, content, { kind: 'request' })
  return { house, ids, gated, names, gate }
}

function workersOf(house: House): number[] {
  return processesWith(`SUBSTRAT_HOME=${house.home}`).filter((pid) => commandLine(pid).includes('--worker'))
}

function holderOf(house: House, id: string): number {
  return FileStore.openForRead(house.home)?.holder(id)?.pid as number
}

/** The runs of each agent that completed. */
function completed(house: House, ids: string[]): number[] {
  return ids.map((id) => house.count(id, 'run.completed'))
}

describe.concurrent('deliver with workers', () => {
  test('answers each request once, prints each agent once, and its workers end with it', async () => {
    const { house, ids, gated, names, gate } = await crowd()
    const running = house.start(['deliver', ...names, '--json'])
    await gate.isReached()
    expect(workersOf(house)).toContain(holderOf(house, gated))
    gate.open()
    gate.open()
    const { exit, stdout, stderr } = await running.result
    const lines = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { agent: string; turns: number; inbox: number })
    expect(exit).toBe(0)
    expect(lines.map(({ agent }) => agent).sort()).toEqual([...ids].sort())
    expect(lines.every(({ turns, inbox }) => turns === REQUESTS_EACH && inbox === 0)).toBe(true)
    expect(house.operatorMail()).toHaveLength(REQUESTS_EACH * AGENTS)
    expect(stderr.match(/delivering request/g)).toHaveLength(REQUESTS_EACH * AGENTS)
    expect(new Set(ids.map((id) => holderOf(house, id))).size).toBeGreaterThan(1)
    expect(workersOf(house)).toEqual([])
  })

  test('continues the turns of a worker that is killed', async () => {
    const { house, ids, gated, names, gate } = await crowd()
    const running = house.start(['deliver', ...names, '--json'])
    await gate.isReached()
    process.kill(holderOf(house, gated), 'SIGKILL')
    for (const _ of [1, 2, 3]) gate.open()
    const { exit } = await running.result
    expect(exit).toBe(0)
    expect(holderOf(house, gated)).toBe(running.pid)
    expect(completed(house, ids)).toEqual(ids.map(() => REQUESTS_EACH))
    expect(house.operatorMail()).toHaveLength(REQUESTS_EACH * AGENTS)
  })

  test('begins no further turn once it is killed, and the next command delivers the rest', async () => {
    const { house, ids, gated, names, gate } = await crowd()
    const running = house.start(['deliver', ...names])
    await gate.isReached()
    const worker = holderOf(house, gated)
    await running.kill('SIGKILL')
    // The turn that it had begun ends, within the grace period.
    gate.open()
    await waitFor(() => workersOf(house).length === 0, 'the end of the workers')
    expect(house.count(gated, 'run.completed')).toBe(1)
    expect(worker).not.toBe(running.pid)
    gate.open()
    const { exit } = await house.start(['deliver', '--all']).result
    expect(exit).toBe(0)
    expect(completed(house, ids)).toEqual(ids.map(() => REQUESTS_EACH))
    expect(house.operatorMail()).toHaveLength(REQUESTS_EACH * AGENTS)
  })

  test('lets the turns of its workers end after a signal, and begins no other', async () => {
    const { house, gated, names, gate } = await crowd()
    const running = house.start(['deliver', ...names])
    await gate.isReached()
    // As a service manager does: the signal goes to every process.
    for (const pid of [running.pid, ...workersOf(house)]) process.kill(pid, 'SIGTERM')
    await running.says('letting the turn finish')
    gate.open()
    const { stderr } = await running.result
    expect(stderr).toContain('messages are still pending for')
    expect([house.count(gated, 'run.completed'), house.count(gated, 'run.started')]).toEqual([1, 1])
    expect(house.inbox(gated)).toHaveLength(1)
  })

  test('stops the turns of its workers after a second signal', async () => {
    const { house, gated, names, gate } = await crowd()
    const running = house.start(['deliver', ...names])
    await gate.isReached()
    process.kill(running.pid, 'SIGTERM')
    await running.says('letting the turn finish')
    process.kill(running.pid, 'SIGTERM')
    await running.result
    expect(workersOf(house)).toEqual([])
    expect(house.count(gated, 'run.interrupted')).toBe(1)
  })
})
