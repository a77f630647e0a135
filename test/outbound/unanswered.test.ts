import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { targetServer } from '../support/targets.js'
import { waitFor } from '../support/wait.js'

test('a command ends while a target holds its request without an answer, and the message stays pending', async () => {
  let isClosedByCommand = false
  const { url, received } = await targetServer((response) => {
    response.once('close', () => {
      isClosedByCommand = true
    })
  })
  const house = House.ofProcesses({ SUBSTRAT_TARGET: url })
  const target = { name: 'silent', on: ['completed'], format: 'json', url: { env: 'SUBSTRAT_TARGET' } }
  await house.ok('config', 'set', 'notify', JSON.stringify([{ ...target, timeout: '1h' }]))
  const id = await house.spawn('worker')
  // A slow command may end before it has sent the request. Without a limit, each would wait for an hour.
  let turns = 0
  for (; received.length === 0; turns++)
    expect(await house.run(['send', 'worker', 'hello'])).toMatchObject({ exit: 0, stdout: 'echo: hello\n' })
  await waitFor(() => isClosedByCommand, 'the end of the request')
  expect((await house.ok('outbox', '--json')).json.messages).toMatchObject(
    Array(turns).fill({ target: 'silent', state: 'pending', attempts: 0 }),
  )
  expect([house.count(id, 'outbound.queued'), house.count(id, 'outbound.failed')]).toEqual([turns, 0])
})
