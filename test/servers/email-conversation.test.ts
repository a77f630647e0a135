/** A whole conversation by e-mail, with an approval in it, over a reboot of the machine. docs/email.md shows it. */
import type { Email } from 'postal-mime'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Host, hasHosts } from '../support/hosts.js'
import { expectInDocs } from '../support/transcript.js'
import { MailHouse } from './email-house.js'
import { AGENT, ANN, BOB, MailServers } from './mail-servers.js'

const servers = new MailServers()

beforeAll(async () => {
  await servers.start()
  for (const address of [AGENT, ANN, BOB]) servers.addUser(address)
})

afterAll(() => servers.close())

const CALL = { name: 'shell', input: { command: 'echo deployed >> deployed' } }

/** A mail as its reader sees it. */
function shown(mail: Email | undefined): string {
  const to = mail?.to?.map(({ address }) => address).join(', ')
  const text = mail?.text?.trim().replace(/^/gm, '  ').replace(/ +$/gm, '')
  return `\n  From: ${mail?.from?.address}\n  To: ${to}\n  Subject: ${mail?.subject}\n\n${text}`
}

test.skipIf(!hasHosts)(
  'an approval that was asked by mail before a reboot is given by mail after it, and the call runs once',
  async () => {
    const house = new MailHouse(servers, [
      { say: 'I will run the script.', tools: [CALL] },
      { say: 'The site is live.' },
      { say: 'You are welcome.' },
    ])
    const host = new Host(house, 'desk')
    const channel = ['channel', 'run', 'mail']
    expect((await host.run(...channel, '--once')).exit).toBe(0)

    const first = host.start(...channel)
    await first.says('the channel mail runs')
    await servers.send(ANN, { subject: 'The site', text: 'Please deploy it.' })
    const [asked] = await servers.waitForMail(ANN, 1)
    const [code] = /(?<=approve )[0-9a-f]{8}/.exec(asked?.text ?? '') ?? []
    await first.kill('SIGKILL')
    host.boot(5)

    await servers.answer(BOB, asked as Email, `approve ${code}`)
    await servers.waitForMail(AGENT, 2)
    await servers.answer(ANN, asked as Email, `approve ${code}`)
    const second = host.start(...channel)
    const [refused] = await servers.waitForMail(BOB, 1)
    await servers.waitForMail(ANN, 2)
    await servers.answer(ANN, (await servers.mailOf(ANN))[1] as Email, 'Thank you!')
    const [, live, welcome] = await servers.waitForMail(ANN, 3)
    second.child.kill('SIGTERM')
    expect((await second.result).exit).toBe(0)

    expect(house.read('deployed')).toBe('deployed\n')
    expect(await house.agentIds()).toHaveLength(1)
    const written = await servers.mailOf(AGENT)
    expectInDocs('docs/email.md', 'A conversation over a reboot', [
      '$ substrat channel run mail',
      first.stderr.trimEnd(),
      shown(written[0]),
      shown(asked),
      '\n[The machine restarts. Meanwhile, Bob and Ann answer.]',
      shown(written[1]),
      shown(written[2]),
      '\n$ substrat channel run mail',
      second.stderr.trimEnd(),
      shown(refused),
      shown(live),
      shown(written[3]),
      shown(welcome),
    ])
    expect(
      new Set(
        [asked, live, welcome].map(
          (mail) => mail?.headers.find(({ key }) => key === 'auto-submitted')?.value,
        ),
      ),
    ).toEqual(new Set(['auto-replied']))
    expect(house.findings()).toEqual([])
  },
)
