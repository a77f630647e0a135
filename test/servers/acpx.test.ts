/** acpx from npm, the command-line client of ACP, with the configuration of docs/acp.md. */
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { expectInDocs } from '../support/transcript.js'
import { Acpx, conversation, User } from './acpx-user.js'

const acpx = new Acpx()
beforeAll(() => acpx.install())
afterAll(() => acpx.remove())

test.skipIf(process.platform !== 'linux')(
  'a session begins in acpx, is approved in the shell after everything was killed, and ends in acpx',
  async () => {
    const house = new House()
    const user = new User(house, acpx)
    const call = { name: 'shell', input: { command: 'touch deployed; echo done' } }
    house.scenario('s.json', { say: 'Let me.', tools: [call] }, { say: 'It is live.' }, { say: 'Bye.' })
    // The agent that acpx creates has the options of the settings.
    await house.ok('config', 'set', 'scripted.scenario', path.join(house.workspace, 's.json'))
    const transcript: string[] = []
    const type = async (line: string): Promise<string> => {
      const all = await user.type(line)
      transcript.push(`$ ${line}`, all)
      return all
    }

    const id = (await type('acpx --format quiet substrat sessions new')).trim()
    const deploy = "acpx --non-interactive-permissions fail --format quiet substrat 'Deploy.'"
    const asking = user.type(deploy)
    await house.waitForRecord(id, 'run.waiting')
    user.killAll()
    await asking
    transcript.push(`$ ${deploy}`, '[kill -9: acpx, its queue owner, substrat acp]')
    await type('substrat list')
    await type(`substrat approve ${id.slice(0, 8)}`)
    await type("acpx --ttl 1 --format quiet substrat 'Thanks.'")
    await type(`substrat log ${id.slice(0, 8)}`)

    expect(house.read('deployed')).toBe('')
    expect(await conversation(house)).toEqual([
      'user: Deploy.',
      'agent: Let me.',
      'agent: It is live.',
      'user: Thanks.',
      'agent: Bye.',
    ])
    expectInDocs(
      'docs/acp.md',
      'After a crash',
      transcript.map((text) => text.replaceAll(house.workspace, '/home/you/site')),
    )
    user.killAll()
  },
)
