/** The log has a `status.derived` for each change of the derived status, in the batch that causes it, and no other. */
import { describe, expect, test } from 'vitest'
import type { SessionRecord } from '../../src/session/records.js'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { MARKS, parked } from '../support/parked.js'

/** The statuses that the log of an agent records, in order. */
function statuses(house: House, id: string): string[] {
  const records = house.records(id) as SessionRecord[]
  const derived = records.filter((record) => record.kind === 'status.derived')
  // It closes its batch: a reader that sees it has seen the cause.
  for (const { seq, batch } of derived) expect(seq).toBe(batch[1])
  const found = derived.map(({ status }) => status)
  for (const [index, status] of found.entries()) expect(status).not.toBe(found[index - 1])
  return found
}

describe.concurrent('the log of an agent records the derived status', () => {
  test('when a turn starts and ends, and not in between', async () => {
    const house = new House()
    const id = await house.spawn('a')
    expect(statuses(house, id)).toEqual([])
    for (const message of ['one', 'two']) await house.ok('send', 'a', message)
    expect(statuses(house, id)).toEqual(['running', 'idle', 'running', 'idle'])
  })

  test('when a turn parks, and when a decision resumes it', async () => {
    const house = new House()
    const { id } = await parked(house)
    expect(statuses(house, id)).toEqual(['running', 'waiting'])
    await house.run(['token', 'rotate', 'a'])
    expect(statuses(house, id)).toEqual(['running', 'waiting'])
    await house.ok('approve', 'a')
    expect(statuses(house, id)).toEqual(['running', 'waiting', 'running', 'idle'])
  })

  test('when recovery finds a dead turn, and when it continues', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'one'])
    await gate.isReached()
    await sender.kill()
    expect(statuses(house, id)).toEqual(['running'])
    await house.run(['recover', 'a', '--continue', 'none'])
    expect(statuses(house, id)).toEqual(['running', 'interrupted_startup'])
    gate.open()
    gate.open()
    await house.ok('resume', 'a')
    expect(statuses(house, id)).toEqual(['running', 'interrupted_startup', 'running', 'idle'])
  })

  test('when an approval does not come before the deadline', async () => {
    const house = new House({ SUBSTRAT_TOKEN_LIFETIME: '1ms' })
    const id = await house.spawn('a', '--option', house.scenario('s.json', { tools: [MARKS] }))
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(5)
    await house.run(['recover', 'a'])
    expect(statuses(house, id)).toEqual(['running', 'waiting', 'interrupted_waiting'])
  })

  test('when a waiting turn is cancelled', async () => {
    const house = new House()
    const { id } = await parked(house)
    await house.run(['cancel', 'a'])
    expect(statuses(house, id)).toEqual(['running', 'waiting', 'idle'])
  })
})

test('an agent whose only message is for later is scheduled, and send says so', async () => {
  const house = new House()
  await house.spawn('a')
  const flags = ['--queue', '--no-drain', '--json']
  const shown = async (...args: string[]) =>
    (await house.ok('send', 'a', ...args, ...flags)).json.agent.shown_status
  expect(await shown('later', '--not-before', '1d')).toBe('scheduled')
  expect(await shown('later', '--not-before', '1d', '--key', 'k')).toBe('scheduled')
  expect(await shown('now')).toBe('idle')
})
