import { describe, expect, test } from 'vitest'
import { frame } from '../../src/storage/log/frame.js'
import { House } from '../support/cli.js'

interface Line {
  path: string
  kind: string
  role: string
  tool: string | null
  snippet: string
  match: [number, number]
}

async function found(house: House, ...args: string[]): Promise<Line[]> {
  const { stdout } = await house.ok('search', ...args, '--json')
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

const matched = ({ snippet, match: [start, end] }: Line): string => snippet.slice(start, end)

describe.concurrent('search', () => {
  test('prints a line per record, under its agent; the agent that changed last comes first', async () => {
    const house = new House()
    for (const name of ['a', 'b', 'c']) {
      await house.spawn(name)
      await house.ok('send', name, name === 'c' ? 'nothing' : 'one\nthe Needle is here\nthree')
    }
    const { stdout } = await house.ok('search', 'needle')
    expect(stdout.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/g, 'TIME')).toBe(
      [
        'b',
        '  TIME  you: the Needle is here',
        '  TIME  agent: the Needle is here',
        '',
        'a',
        '  TIME  you: the Needle is here',
        '  TIME  agent: the Needle is here',
        '',
      ].join('\n'),
    )
    expect((await found(house, 'needle')).map(matched)).toEqual(['Needle', 'Needle', 'Needle', 'Needle'])
    expect(await found(house, 'NEEDLE')).toEqual([])
    expect((await house.ok('search', 'nowhere')).stdout).toBe('')
  })

  test('--since and --agent choose records and agents, also terminated ones', async () => {
    const house = new House()
    for (const name of ['lead', 'other']) {
      await house.spawn(name)
      await house.ok('send', name, 'needle')
    }
    const id = await house.spawn('below', '--parent', 'lead')
    await house.ok('send', 'lead/below', 'needle')
    await house.ok('terminate', 'other')
    const paths = async (...flags: string[]): Promise<string[]> => [
      ...new Set((await found(house, 'needle', ...flags)).map(({ path }) => path)),
    ]
    expect(await paths('--agent', 'lead*')).toEqual(['lead/below', 'lead'])
    expect(await paths('--agent', 'other')).toEqual(['other'])
    expect(await paths('--agent', id.slice(0, 8))).toEqual(['lead/below'])
    const since = house.records(id)[0]?.ts as string
    expect(await paths('--since', since)).toEqual(['lead/below'])
    expect(await paths('--since', '2999-01-01')).toEqual([])
  })

  test('finds texts that JSON escapes, in each case, and no names of fields or ids', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'she said "Größe\tC:\\dir" 日本 😀')
    for (const text of ['said "größe', 'GRÖßE\tC', 'C:\\dir', '日本 😀', '\tC:'])
      expect(
        (await found(house, text)).map(({ role }) => role),
        text,
      ).toEqual(text === 'GRÖßE\tC' ? [] : ['operator', 'agent'])
    for (const text of ['message_id', 'content', id.slice(0, 13), 'operator', 'message.user'])
      expect(await found(house, text), text).toEqual([])
  })

  test('finds a text in a blob, across the parts in which it is read', async () => {
    const house = new House()
    await house.spawn('a')
    const part = 1024 * 1024
    const stdin = `${'x'.repeat(part - 3)}needle${'y'.repeat(part)} tail of "it"`
    expect((await house.run(['send', 'a', '-'], { stdin })).exit).toBe(0)
    const [line] = await found(house, 'needle')
    expect(line).toMatchObject({ kind: 'message.user', match: [60, 66] })
    expect((await found(house, 'tail of "it"')).map(({ role }) => role)).toEqual(['operator', 'agent'])
  })

  test('finds inputs and outputs of tools, errors and titles', async () => {
    const house = new House()
    const calls = { tools: [{ name: 'shell', input: { command: 'echo "out $((40 + 2))"' } }] }
    await house.spawn('a', '--option', house.scenario('s.json', calls, { fail: { type: 'invalid' } }))
    await house.run(['send', 'a', 'go', '--allow', 'shell'])
    await house.ok('set', 'a', '--title', 'The answers')
    expect(await found(house, 'echo "out')).toMatchObject([{ role: 'tool', tool: 'shell' }])
    expect(await found(house, 'out 42')).toMatchObject([{ kind: 'tool.finished', tool: 'shell' }])
    expect(await found(house, 'answers')).toMatchObject([{ role: 'settings', snippet: 'The answers' }])
    expect(await found(house, 'shell')).toEqual([])
  })

  test('reports a record without the fields of its kind as damage, and searches the others', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'needle')
    const at = { seq: 99, ts: '2026-11-20T10:00:00.000Z', batch: [99, 99] }
    for (const kind of ['model.failed', 'token.revoked', 'agent.watched'])
      house.damage(id, (log) => `${log}${frame({ ...at, kind, why: 'needle' }).toString()}`)
    const { exit, stdout, stderr } = await house.run(['search', 'needle', '--json'])
    expect(exit).toBe(10)
    expect(stderr).toContain('substrat doctor')
    expect(stdout.split('\n').slice(0, -1)).toHaveLength(2)
  })

  test('leaves out a truncated batch, and searches what is undamaged in a damaged log', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'needle one')
    await house.ok('send', 'a', 'needle two')
    house.damage(
      id,
      (log) =>
        `${log}${log
          .split('\n')
          .find((line) => line.includes('needle one'))
          ?.slice(0, -30)}`,
    )
    expect((await found(house, 'needle')).length).toBe(4)
    house.damage(id, (text) => text.replace('needle one', 'needle 111'))
    const damaged = await house.run(['search', 'needle', '--json'])
    expect(damaged.exit).toBe(10)
    expect(damaged.stderr).toContain('substrat doctor')
    expect(damaged.stdout.split('\n').filter((each) => each.includes('needle two'))).toHaveLength(2)
  })

  test('wants a text', async () => {
    const house = new House()
    await house.spawn('a')
    expect((await house.run(['search'])).exit).toBe(2)
    expect((await house.run(['search', ''])).exit).toBe(2)
  })
})
