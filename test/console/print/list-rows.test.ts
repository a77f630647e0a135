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
