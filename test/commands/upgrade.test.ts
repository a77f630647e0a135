/** Commands in homes of format 1: reading commands change nothing, and writing commands upgrade one agent at a time. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { FORMAT } from '../../src/format.js'
import { frame } from '../../src/storage/log/frame.js'
import { House } from '../support/cli.js'
import { copyTree } from '../support/copy-tree.js'
import { FROZEN } from '../support/frozen-home.js'

function frozenHouse(): House {
  const house = new House({ SUBSTRAT_TIMEOUT: '5s' })
  copyTree(path.join(FROZEN, 'home'), house.home)
  return house
}

/** Every file with its content, and every directory. */
function tree(house: House): Record<string, string> {
  const entries = readdirSync(house.home, { recursive: true, withFileTypes: true })
  return Object.fromEntries(
    entries.map((entry) => {
      const file = path.join(entry.parentPath, entry.name)
      return [path.relative(house.home, file), entry.isFile() ? readFileSync(file, 'latin1') : '']
    }),
  )
}

function format(house: House): number {
  return JSON.parse(readFileSync(path.join(house.home, 'home.json'), 'utf8')).format
}

function upgrades(house: House, id: string): object[] {
  return house.records(id).filter(({ kind }) => kind === 'session.upgraded')
}

async function agentsOf(
  house: House,
): Promise<{ id: string; name: string | null; path: string; state: string }[]> {
  return (await house.ok('list', '--all', '--json')).json.agents
}

async function formatsOf(house: House): Promise<{ home: number; agents: Record<string, number> }> {
  return (await house.run(['doctor', '--json'])).json.format
}

describe.concurrent('the frozen home of format 1', () => {
  test('is read by every reading command, and no byte changes', async () => {
    const house = frozenHouse()
    const before = tree(house)
    const agents = await agentsOf(house)
    expect(agents.length).toBeGreaterThan(5)
    for (const { id, state } of agents) {
      expect((await house.ok('show', id, '--json')).json).toMatchObject({ agent: { id, state }, format: 1 })
      expect((await house.ok('log', id)).stdout).toContain('created')
      const logged = (await house.ok('log', id, '--json')).stdout.trim().split('\n')
      expect(logged.map((line) => JSON.parse(line).seq)).toEqual(house.records(id).map(({ seq }) => seq))
      expect((await house.ok('export', id)).stdout).not.toBe('')
    }
    for (const args of [['list'], ['tree'], ['inbox'], ['providers'], ['config', 'list']])
      await house.ok(...args)
    for (const args of [['doctor'], ['doctor', '--all']]) {
      const { stdout } = await house.run(args)
      expect(stdout).toContain(
        `${house.home} has format 1: the next command that writes raises it to ${FORMAT}`,
      )
      expect(stdout).toContain(`${agents.length} agents of format 1: `)
      expect(stdout).not.toContain('damaged:')
    }
    expect(await formatsOf(house)).toEqual({ home: 1, agents: { 1: agents.length } })
    expect(tree(house)).toEqual(before)
  })

  test('is upgraded when it is written, one agent at a time', async () => {
    const house = frozenHouse()
    const agents = await agentsOf(house)
    const living = agents.filter(({ state }) => state !== 'terminated')
    const before = Object.fromEntries(agents.map(({ id }) => [id, house.log(id)]))
    for (const [index, { id }] of living.entries()) {
      await house.ok('gate', id)
      expect(format(house)).toBe(FORMAT)
      expect(house.log(id).startsWith(before[id] as string)).toBe(true)
      const [first] = upgrades(house, id) as [{ seq: number; batch: [number, number] }]
      expect(first).toMatchObject({ from_format: 1, to_format: FORMAT })
      expect(first.batch[0]).toBe(first.seq)
      expect(house.log(id).slice(before[id]?.length)).toMatch(/^[^\n]*"kind":"session.upgraded"/)
      for (const { id } of living.slice(index + 1)) expect(house.log(id)).toBe(before[id])
      const older = agents.length - index - 1
      // In between, the doctor would say no more than the logs.
      if (index > 0 && index < living.length - 1) continue
      expect((await formatsOf(house)).agents).toEqual({
        ...(older > 0 ? { 1: older } : {}),
        [FORMAT]: index + 1,
      })
    }
    for (const { id } of living) {
      await house.ok('ungate', id, '--no-drain')
      expect(upgrades(house, id)).toHaveLength(1)
    }
    expect(house.findings(false).filter(({ invariant }) => /intact|matches the log/.test(invariant))).toEqual(
      [],
    )
  })

  test('keeps each agent, record and pending message through recovery', async () => {
    const house = frozenHouse()
    const before = await agentsOf(house)
    const logs = Object.fromEntries(before.map(({ id }) => [id, house.log(id)]))
    await house.run(['recover', '--all', '--continue', 'none'])
    expect((await agentsOf(house)).map(({ path: at }) => at)).toEqual(before.map(({ path: at }) => at))
    for (const { id } of before) expect(house.log(id).startsWith(logs[id] as string)).toBe(true)
    expect((await house.run(['doctor', '--all'])).stdout).not.toContain('damaged:')
  })
})

describe.concurrent('an agent of format 1', () => {
  test.each([
    ['send', ['send', 'completed', 'third question']],
    ['send --key of a key from before', ['send', 'completed', 'second question', '--key', '2026-01']],
    ['send --queue', ['send', 'blob', 'later', '--queue']],
    ['spawn', ['spawn', '--name', 'young', 'hello']],
    ['spawn --parent', ['spawn', '--name', 'young', '--parent', 'completed', 'hello']],
    ['fork', ['fork', 'completed', '--name', 'copy']],
    ['retry', ['retry', 'failed']],
    ['resume', ['resume', 'queued']],
    ['suspend --hold', ['suspend', 'completed', '--hold']],
    ['gate', ['gate', 'completed']],
    ['ungate', ['ungate', 'completed']],
    ['cancel', ['cancel', '--all']],
    ['deliver', ['deliver', '--all']],
    ['wait', ['wait', 'completed']],
    ['inbox --take', ['inbox', '--take']],
    ['terminate', ['terminate', 'completed']],
    ['remove', ['remove', 'terminated']],
    ['prune', ['prune', '--older-than', '1s']],
    ['unlock', ['unlock', 'completed']],
    ['doctor --rebuild', ['doctor', '--all', '--rebuild']],
  ] as const)('survives %s, and its log stays readable', async (_, args) => {
    const house = frozenHouse()
    const before = await agentsOf(house)
    const logs = Object.fromEntries(before.map(({ id }) => [id, house.log(id)]))
    // Some agents were killed in mid-turn, the program of one always fails, and scenarios of others are gone.
    expect([0, 6, 8, 9], args.join(' ')).toContain((await house.run([...args])).exit)
    const isGone = args[0] === 'remove' || args[0] === 'prune'
    for (const { id, name, state } of before) {
      if (isGone && (name === 'terminated' || (args[0] === 'prune' && state === 'terminated'))) continue
      expect(house.log(id).startsWith(logs[id] as string)).toBe(true)
      const isWritten = house.log(id) !== logs[id]
      expect(upgrades(house, id)).toHaveLength(isWritten ? 1 : 0)
      if (isWritten) await house.ok('show', id)
    }
    expect((await house.run(['doctor', '--all'])).stdout).not.toContain('damaged:')
  })

  test('runs a key from before once', async () => {
    const house = frozenHouse()
    const sent = await house.ok('send', 'completed', 'second question', '--key', '2026-01')
    expect(sent.stdout).toBe('echo: second question\n')
    const { id } = (await house.ok('show', 'completed', '--json')).json.agent
    expect(house.count(id, 'run.started')).toBe(2)
  })

  test('is written by several commands at the same time, and upgraded once', async () => {
    const house = frozenHouse()
    const words = ['one', 'two', 'three', 'four']
    const sent = words.map((word) => house.start(['send', 'completed', word, '--timeout', '1h']))
    const others = ['blob', 'failed'].map((name) => house.start(['set', name, '--title', 'thawed']))
    for (const { result } of [...sent, ...others]) expect((await result).exit).toBe(0)
    for (const name of ['completed', 'blob', 'failed']) {
      const { id } = (await house.ok('show', name, '--json')).json.agent
      expect(upgrades(house, id)).toHaveLength(1)
      expect(house.count(id, 'message.user')).toBe(name === 'completed' ? 6 : 1)
    }
    expect(format(house)).toBe(FORMAT)
    expect((await house.run(['doctor', '--all'])).stdout).not.toContain('damaged:')
  })

  test('gives its totals from the first record on, once it is written', async () => {
    const house = frozenHouse()
    const { id } = (await house.ok('show', 'completed', '--json')).json.agent
    await house.ok('set', id, '--title', 'thawed')
    const { snapshot, usage } = JSON.parse(readFileSync(house.agentFile(id, 'session.json'), 'utf8'))
    const runs = house
      .records(id)
      .flatMap((record) => (record.kind === 'run.completed' ? [record.usage] : []))
    const sum = (field: 'input_tokens' | 'output_tokens'): number =>
      runs.reduce((total, each) => total + (each?.[field] ?? 0), 0)
    expect(snapshot).toBeGreaterThan(7)
    expect(sum('input_tokens')).toBeGreaterThan(0)
    expect(usage).toMatchObject({ input_tokens: sum('input_tokens'), output_tokens: sum('output_tokens') })
  })

  test('stays usable if its log is damaged in a part that the snapshot covers', async () => {
    const house = frozenHouse()
    const { id } = (await house.ok('show', 'completed', '--json')).json.agent
    // Commands check the last 256 KiB of a log before they append to it.
    await house.ok('send', 'completed', 'x'.repeat(60_000))
    for (let turn = 0; turn < 3; turn++) await house.ok('send', 'completed', 'y'.repeat(60_000))
    const file = house.agentFile(id, 'session.json')
    const { crc: _, usage: __, ...rest } = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, frame({ ...rest, snapshot: 7 }))
    house.damage(id, (log) => log.replace('You are frozen.', 'You are frozen!'))
    expect((await house.ok('send', 'completed', 'still there?')).stdout).toBe('echo: still there?\n')
    expect((await house.run(['doctor', '--all'])).stdout).toContain('damaged: completed: ')
  })
})

test('a rebuild from a snapshot of format 1 begins a log of the new format', async () => {
  const house = new House()
  const id = await house.spawn('a', '--system', 'You remember.')
  const file = house.agentFile(id, 'session.json')
  const { crc: _, ...rest } = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, frame({ ...rest, format: 1 }))
  house.damage(id, (log) => log.replace('session.created', 'session.cremated'))
  await house.run(['doctor', '--all', '--rebuild'])
  expect(house.records(id)[0]).toMatchObject({ kind: 'session.created', format: FORMAT })
  expect((await house.ok('show', 'a', '--json')).json).toMatchObject({
    format: FORMAT,
    instructions: 'You remember.',
  })
})
