import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const names = (result: { json: { agents: { name: string }[] } }): string[] =>
  result.json.agents.map(({ name }) => name)

describe.concurrent('list', () => {
  test('is empty without a home, and creates none', async () => {
    const house = new House()
    expect((await house.ok('list')).stdout).toBe('no agents yet (create one: substrat spawn)\n')
    expect((await house.ok('list', '--json')).json).toStrictEqual({ agents: [] })
    expect(house.exists()).toBe(false)
  })

  test('shows agents oldest first, and filters by state, status and life', async () => {
    const house = new House()
    for (const name of ['a', 'b', 'c']) await house.spawn(name)
    await house.ok('send', 'b', 'hello')
    await house.ok('terminate', 'c')
    const list = (...flags: string[]) => house.ok('list', '--json', ...flags).then(names)
    expect(await list()).toEqual(['a', 'b'])
    expect(await list('--all')).toEqual(['a', 'b', 'c'])
    expect(await list('--roots')).toEqual(['a', 'b'])
    expect(await list('--state', 'created')).toEqual(['a'])
    expect(await list('--state', 'suspended')).toEqual(['b'])
    expect(await list('--state', 'terminated')).toEqual(['c'])
    expect(await list('--status', 'idle')).toEqual(['a', 'b'])
    expect(await list('--status', 'running')).toEqual([])
    expect((await house.ok('list', '--status', 'running')).stdout).toBe(
      'no agents match (show all agents: substrat list --all)\n',
    )
    const [head, first, ...rest] = (await house.ok('list')).stdout.split('\n')
    expect(head).toMatch(/^AGENT +ID +STATE +STATUS +PROVIDER +INBOX +UPDATED$/)
    expect(first).toMatch(/^a +[0-9a-f]{8} +created +idle +scripted +0 +[-\d]{10} [:\d]{8}Z$/)
    expect(rest).toHaveLength(2)
  })

  test('takes a status as people read and type it', async () => {
    const house = new House()
    await house.spawn('slow', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    expect((await house.run(['send', 'slow', 'go', '--turn-timeout', '50ms'])).exit).toBe(12)
    for (const word of ['timed_out', 'timed out', 'timed-out', 'Timed out'])
      for (const flags of [['--status', word], [`--status=${word}`]])
        expect(names(await house.ok('list', '--json', ...flags))).toEqual(['slow'])
    expect(names(await house.ok('list', '--json', '--status', 'needs-you'))).toEqual(['slow'])
    const refused = await house.run(['list', '--status', 'too slow'])
    expect(refused).toMatchObject({ exit: 2, stderr: expect.stringContaining(', not too slow (') })
  })

  test('shows the titles of agents, if any has one', async () => {
    const house = new House()
    for (const name of ['a', 'b']) await house.spawn(name)
    await house.ok('set', 'b', '--title', 'the release\nnotes')
    const [head, first, second] = (await house.ok('list')).stdout.split('\n')
    expect(head).toMatch(/UPDATED +TITLE$/)
    expect(first).toMatch(/Z$/)
    expect(second).toMatch(/Z +the release/)
    const { json } = await house.ok('list', '--json')
    expect(json.agents.map(({ title }: { title: string }) => title)).toEqual([null, 'the release\nnotes'])
  })

  test('prints entries of the same shape as the agent of send --json', async () => {
    const house = new House()
    await house.spawn('a')
    const { json } = await house.run(['send', 'a', 'hello', '--json'])
    expect((await house.ok('list', '--json')).json).toStrictEqual({ agents: [json.agent] })
  })

  test('also shows an unreadable agent', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.spawn('b')
    house.damage(id, (log) => log.replace('session.created', 'session.creaked'))
    rmSync(house.agentFile(id, 'session.json'))
    const { json } = await house.ok('list', '--json')
    expect(json.agents).toMatchObject([
      { id, status: 'corrupt', path: 'a', error: { code: 'CORRUPT', message: expect.any(String) } },
      { name: 'b', status: 'idle' },
    ])
    expect(Object.keys(json.agents[0])).toEqual(['id', 'status', 'shown_status', 'path', 'error'])
    expect((await house.ok('list')).stdout).toMatch(new RegExp(`^a +${id.slice(0, 8)} .*corrupt`, 'm'))
  })

  test('shows an agent without a log by its path, which its snapshot has, or else by its UUID', async () => {
    const house = new House()
    await house.spawn('a')
    const child = await house.spawn('child', '--parent', 'a')
    rmSync(house.agentFile(child, 'events.jsonl'))
    const shown = async (): Promise<string> =>
      (await house.ok('list', '--json')).json.agents.find(({ id }: { id: string }) => id === child).path
    expect(await shown()).toBe('a/child')
    rmSync(house.agentFile(child, 'session.json'))
    expect(await shown()).toBeNull()
    expect((await house.ok('list')).stdout).toContain(child)
  })
})
