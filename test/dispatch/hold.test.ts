import { expect, test } from 'vitest'
import { House } from '../support/cli.js'

test('an agent on hold runs no turn by itself: only resume continues the interrupted one', async () => {
  const house = new House()
  const flags = ['--option', house.scenario('s.json', { delay_ms: 3_600_000 })]
  const id = await house.spawn('a', ...flags)
  const turn = house.start(['send', 'a', 'hello'])
  await house.waitForRecord(id, 'model.requested')
  await turn.kill()
  await house.ok('suspend', 'a', '--hold')
  house.scenario('s.json', { say: 'one' })
  // Interrupted and resumable.
  expect((await house.run(['recover', '--all'])).exit).toBe(6)
  expect(house.count(id, 'message.agent')).toBe(0)
  expect((await house.ok('resume', 'a')).stdout).toBe('one\n')
  await house.ok('recover', '--all')
  expect(house.count(id, 'message.agent')).toBe(1)
  expect(house.findings(true)).toEqual([])
})
