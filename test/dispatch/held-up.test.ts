/** An agent waits for the agents on which a command in its tool works. */
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'

const CLI = `${process.execPath} ${resolve('bin/run.js')}`

test('a child whose turn runs in the shell of its parent is refused to wait for that parent', async () => {
  const house = new House({ SUBSTRAT_TOOL_TIMEOUT: '1h' })
  const shell = { name: 'shell', input: { command: `${CLI} send child 'go' --queue` } }
  const parent = house.scenario('p.json', { tools: [shell] }, { say: 'ok' })
  const ask = { name: 'send_message', input: { to: 'parent', content: 'may I?', wait: true } }
  const child = house.scenario('c.json', { tools: [ask] }, { say: 'done' })
  await house.spawn('parent', '--option', parent, '--allow', 'all')
  const id = await house.spawn('child', '--parent', 'parent', '--option', child, '--allow', 'all')
  expect(await house.run(['send', 'parent', 'go'])).toMatchObject({ exit: 0, stdout: 'ok\n' })
  const [result] = house.records(id).filter(({ kind }) => kind === 'tool.finished')
  expect(result).toMatchObject({ is_error: true, content: expect.stringContaining('would be a deadlock') })
  expect(house.findings(true)).toEqual([])
})
