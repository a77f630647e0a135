/** acpx from npm, the command-line client of ACP, with the configuration of docs/acp.md. */
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Acpx, conversation, User } from './acpx-user.js'

const acpx = new Acpx()
beforeAll(() => acpx.install())
afterAll(() => acpx.remove())

test.skipIf(process.platform !== 'linux')(
  'a session begins in acpx, is approved in the shell after everything was killed, and ends in acpx',
  async () => {
    const house = new House()
    const user = new User(house, acpx)
    const call = { name: 'shell', input: { command: 'touch touched' } }
    house.scenario('s.json', { say: 'Let me.', tools: [call] }, { say: 'Done.' }, { say: 'Bye.' })
    // The agent that acpx creates has the options of the settings.
    await house.ok('config', 'set', 'scripted.scenario', path.join(house.workspace, 's.json'))
    const id = (await user.ok([], 'sessions', 'new')).trim()
    const asking = user.start(['--non-interactive-permissions', 'fail'], 'touch')
    await house.waitForRecord(id, 'run.waiting')
    user.killAll()
    await asking

    expect((await house.ok('list', '--json')).json.agents).toMatchObject([{ id, status: 'waiting' }])
    expect((await house.ok('approve', id)).stdout).toBe('Done.\n')

    expect(await user.ok(['--ttl', '1'], 'bye')).toContain('Bye.')
    expect(await conversation(house)).toEqual([
      'user: touch',
      'agent: Let me.',
      'agent: Done.',
      'user: bye',
      'agent: Bye.',
    ])
    user.killAll()
  },
)
