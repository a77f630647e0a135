/** `fork --at`: the conversation up to a turn or a message. */
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'

/** An agent with three turns, the second of which has a call of a tool. */
async function conversed(): Promise<{ house: House; id: string }> {
  const house = new House()
  const call = { name: 'shell', input: { command: 'echo 17' } }
  const scenario = house.scenario(
    's.json',
    { say: 'one' },
    { tools: [call] },
    { say: 'two' },
    { say: 'three' },
  )
  const id = await house.spawn('a', '-o', scenario, '--allow', 'shell')
  for (const text of ['first', 'second', 'third']) await house.ok('send', 'a', text)
  return { house, id }
}

/** The texts of the conversation that the fork has, in order. */
async function copied(house: House, at: string): Promise<string[]> {
  const { stdout } = await house.ok('fork', 'a', '--at', at)
  const [, seed] = house.records(stdout.trim())
  if (seed?.kind !== 'session.seeded') return []
  const messages = JSON.parse(String(seed.conversation)) as {
    role: string
    content?: string
    text?: string
  }[]
  return messages.map(({ role, content, text }) => `${role}: ${content ?? text ?? ''}`)
}

const FIRST = ['user: first', 'assistant: one']
const SECOND = [...FIRST, 'user: second', 'assistant: ', 'tool: 17\n', 'assistant: two']

test('copies the turns up to a number, counted from either end, or up to the id of a run', async () => {
  const { house, id } = await conversed()
  expect(await copied(house, '1')).toEqual(FIRST)
  expect(await copied(house, '2')).toEqual(SECOND)
  expect(await copied(house, '-2')).toEqual(SECOND)
  expect(await copied(house, '-1')).toEqual([...SECOND, 'user: third', 'assistant: three'])
  const [, run] = house
    .records(id)
    .flatMap((record) => (record.kind === 'run.started' ? [record.run_id] : []))
  expect(await copied(house, run as string)).toEqual(SECOND)
  expect(await copied(house, (run as string).slice(0, 12).toUpperCase())).toEqual(SECOND)
})

test('ends before a message of a person, and after a reply', async () => {
  const { house, id } = await conversed()
  const ids = house
    .records(id)
    .flatMap((record) =>
      record.kind === 'message.user' || record.kind === 'message.agent' ? [record.message_id] : [],
    )
  expect(await copied(house, ids[2] as string)).toEqual(FIRST)
  expect(await copied(house, ids[3] as string)).toEqual(SECOND)
  // Before the first message there is nothing to copy.
  expect(await copied(house, ids[0] as string)).toEqual([])
})

test('says in the log how far the copy goes, and the original stays as it is', async () => {
  const { house, id } = await conversed()
  const log = house.log(id)
  const { stdout } = await house.ok('fork', 'a', '--at', '1', '--name', 'b')
  const [, seed] = house.records(stdout.trim())
  const [, second] = house.records(id).filter(({ kind }) => kind === 'run.started')
  expect(seed).toMatchObject({ kind: 'session.seeded', from: id, last_seq: expect.any(Number) })
  expect((seed as { last_seq: number }).last_seq).toBeLessThan(second?.seq as number)
  expect(house.log(id)).toBe(log)
  expect((await house.ok('send', 'b', 'again')).exit).toBe(0)
  expect(house.findings(true)).toEqual([])
})

test.each(['0', '4', '-4', '999', 'zzz', 'abcd1234', '', '1.5'])(
  'refuses %j, and creates no agent',
  async (at) => {
    const { house } = await conversed()
    const refused = await house.run(['fork', 'a', `--at=${at}`])
    expect(refused).toMatchObject({ exit: 3, stdout: '', stderr: expect.stringContaining('it has 3 turns') })
    expect(house.ids()).toHaveLength(1)
  },
)

test('counts a continued turn once', async () => {
  const house = new House()
  const call = { tools: [{ name: 'shell', input: { command: 'true' } }] }
  await house.spawn('a', '-o', house.scenario('s.json', call, { say: 'one' }, { say: 'two' }))
  await house.run(['send', 'a', 'first'])
  await house.ok('suspend', 'a')
  await house.run(['resume', 'a'])
  await house.ok('approve', 'a')
  await house.ok('send', 'a', 'second')
  expect((await copied(house, '1')).at(-1)).toBe('assistant: one')
})
