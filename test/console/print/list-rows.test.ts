/** The words about each agent in the list at a terminal. */
import { expect, test } from 'vitest'
import { listText } from '../../../src/console/print/list-rows.js'
import { House } from '../../support/cli.js'
import { Gate } from '../../support/gate.js'

const wide = (agents: never[], shown: unknown): string =>
  listText(agents, () => shown as never, { columns: 120 }).split('\n')[1] as string

test('the reply of an earlier turn is marked while a later turn runs', async () => {
  const house = new House()
  await house.spawn('a', '--provider', 'exec', '--option', 'command=echo one')
  await house.ok('send', 'a', 'hello')
  const about = async (): Promise<string> =>
    wide((await house.ok('list', '--json')).json.agents, (await house.ok('show', 'a', '--json')).json)
  expect(await about()).toMatch(/^idle .* {2}one$/)
  const gate = new Gate(house, 'g')
  await house.ok('set', 'a', '--option', `command=${gate.command}`)
  const sending = house.start(['send', 'a', 'next'])
  await gate.isReached()
  expect(await about()).toMatch(/^running .* {2}\(previous turn\) one$/)
  gate.open()
  await sending.result
})

test.each([
  ['Asia/Kolkata', '+05:30'],
  ['UTC', 'Z'],
])('after a day the time of the latest change has its zone, in %s', (zone, sign) => {
  const before = process.env.TZ
  process.env.TZ = zone
  try {
    const updated_at = new Date(Date.now() - 3 * 86_400_000).toISOString()
    const agent = { id: 'x', path: 'a', status: 'idle', shown_status: 'idle', updated_at, title: 'about' }
    expect(wide([agent] as never[], undefined)).toMatch(/^idle +a +\w{3} \d\d:\d\d(?:Z|\+05:30) {2}about$/)
    expect(wide([agent] as never[], undefined)).toContain(`${sign}  about`)
  } finally {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  }
})
