/** `channel run` with a mailbox: forged and doubled mail, kills at the worst moments, and servers that fail. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Running } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { MailHouse } from './email-house.js'
import { AGENT, ANN, MailServers } from './mail-servers.js'

const servers = new MailServers()
let isStarted = false

beforeEach(async () => {
  if (!isStarted) {
    isStarted = true
    await servers.start()
    for (const address of [AGENT, ANN]) servers.addUser(address)
  }
  for (const address of [AGENT, ANN]) servers.empty(address)
})

afterEach(() => {
  servers.policy = () => 'DUNNO'
})

afterAll(() => servers.close())

async function newHouse(channel: { options?: object } = {}): Promise<MailHouse> {
  const house = new MailHouse(servers, [{ say: 'first reply' }, { say: 'second reply' }])
  await house.set(channel)
  // The cursor is behind all earlier mail.
  await house.runOnce()
  return house
}

async function repliesToAnn(): Promise<string[]> {
  await servers.allDelivered()
  return (await servers.mailOf(ANN)).map(({ text = '' }) => text.trim())
}

describe('a mail', () => {
  test('that the server delivers twice has one turn and one reply', async () => {
    const house = await newHouse()
    await servers.send(ANN, { text: 'once' })
    await servers.waitForMail(AGENT, 1)
    servers.deliverAgain(servers.mailFiles(AGENT)[0] as string, AGENT)
    await house.runOnce()
    servers.deliverAgain(servers.mailFiles(AGENT)[0] as string, AGENT)
    await house.runOnce()
    expect(servers.mailFiles(AGENT)).toHaveLength(3)
    expect([await house.turns(), await repliesToAnn()]).toEqual([1, ['first reply']])
  })

  test('with a forged sender is ignored, and the reason is printed', async () => {
    const house = await newHouse()
    await servers.sendFromOutside({ from: ANN, text: 'without a field' })
    const forged = house.scripts.find((script) => script.startsWith('curl'))
    house.shell(
      (forged as string).replace('smtp://mail.example.org', `smtp://127.0.0.1:${servers.ports.smtp}`),
    )
    await servers.send('ann@example.org', { from: 'bob@example.org', text: 'with the login of Ann' })
    await servers.waitForMail(AGENT, 3)
    const notes = await house.runOnce()
    expect(notes).toContain('mail: 0 received, 3 ignored')
    expect(notes.match(/ignored a message from .*/g)).toEqual([
      ...Array(2).fill(
        'ignored a message from ann@example.org: its sender is not authenticated: neither dmarc=pass nor dkim=pass for example.org',
      ),
      'ignored a message from bob@example.org: its sender is not authenticated: auth=pass for ann@example.org',
    ])
    expect(await house.agentIds()).toEqual([])
  })

  test('that an autoresponder sends gets no answer', async () => {
    const house = await newHouse()
    await servers.send(ANN, { text: 'I am away', headers: { 'Auto-Submitted': 'auto-replied' } })
    await servers.waitForMail(AGENT, 1)
    expect(await house.runOnce()).toContain('no person has written it (Auto-Submitted: auto-replied)')
    expect(await repliesToAnn()).toEqual([])
  })
})

/** Forwards to dovecot, but keeps the end of its answer with a mail: the mail is received, and `receive` has not returned. */
async function holdingProxy(onHeld: () => void): Promise<number> {
  let isHolding = true
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(servers.ports.imap, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (bytes: Buffer) => {
      const end = isHolding ? bytes.indexOf('OK Fetch completed') : -1
      client.write(end === -1 ? bytes : bytes.subarray(0, end))
      if (end === -1) return
      isHolding = false
      onHeld()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

describe('kill -9 of channel run', () => {
  test('after it has received a mail, and before it has recorded the cursor, loses nothing', async () => {
    let running: Running | undefined
    let kills = 0
    const port = await holdingProxy(() => {
      kills += 1
      running?.child.kill('SIGKILL')
    })
    const plain = {
      imap: `imap://127.0.0.1:${port}`,
      smtp: `smtp://127.0.0.1:${servers.ports.submission}`,
      tls: 'none',
    }
    const house = await newHouse({ options: plain })
    await servers.send(ANN, { text: 'hello' })
    await servers.waitForMail(AGENT, 1)
    running = house.start(['channel', 'run', 'mail'])
    expect((await running.result).exit).toBe(137)
    expect([kills, await house.agentIds()]).toEqual([1, []])
    running = undefined
    await house.runOnce()
    expect([await house.turns(), await repliesToAnn()]).toEqual([1, ['first reply']])
  })

  test.each([
    ['before the server has taken its reply', 'RCPT', 1],
    ['after the server has taken its reply, and before it has the answer', 'END-OF-MESSAGE', 2],
  ])('%s shows the reply once', async (_, state, transfers) => {
    const house = await newHouse()
    let running: Running | undefined
    let taken = 0
    servers.policy = (attributes) => {
      if (attributes.get('sender') !== AGENT) return 'DUNNO'
      if (attributes.get('protocol_state') === 'END-OF-MESSAGE') taken += 1
      if (attributes.get('protocol_state') === state) {
        running?.child.kill('SIGKILL')
        running = undefined
      }
      return 'DUNNO'
    }
    await servers.send(ANN, { text: 'hello' })
    await servers.waitForMail(AGENT, 1)
    running = house.start(['channel', 'run', 'mail'])
    expect((await running.result).exit).toBe(137)
    expect(await house.turns()).toBe(1)
    await house.runOnce()
    // The sieve rule of the recipient's server drops the second one, which has the same Message-ID.
    expect([await house.turns(), await repliesToAnn(), taken]).toEqual([1, ['first reply'], transfers])
    expect(house.findings()).toEqual([])
  })
})

describe('a reply', () => {
  test('survives restarts of both servers', async () => {
    const house = await newHouse()
    const running = house.start(['channel', 'run', 'mail'])
    await running.says('the channel mail runs')
    await servers.stop('dovecot')
    await running.says('cannot receive: the IMAP server localhost gave no mail')
    await servers.startDovecot()
    await servers.send(ANN, { text: 'hello' })
    let isDown: Promise<void> | undefined
    servers.policy = (attributes) => {
      if (attributes.get('sender') === AGENT && isDown === undefined) {
        // A slow machine would need all attempts before postfix has started again.
        running.child.kill('SIGSTOP')
        isDown = servers.stop('postfix')
      }
      return isDown === undefined ? 'DUNNO' : '421 4.3.2 shutting down'
    }
    await waitFor(() => isDown !== undefined, 'the first attempt')
    await isDown
    servers.policy = () => 'DUNNO'
    await servers.startPostfix()
    running.child.kill('SIGCONT')
    await servers.waitForMail(ANN, 1)
    expect([await house.turns(), await repliesToAnn()]).toEqual([1, ['first reply']])
    expect((await running.kill('SIGTERM')).exit).toBe(0)
  })

  test('that is greylisted is sent with the next attempt', async () => {
    const house = await newHouse()
    let attempts = 0
    servers.policy = (attributes) =>
      attributes.get('sender') === AGENT && attempts++ === 0
        ? '450 4.2.0 Greylisted, try again in 1 seconds'
        : 'DUNNO'
    await servers.send(ANN, { text: 'hello' })
    await servers.waitForMail(AGENT, 1)
    await house.runOnce()
    expect(await repliesToAnn()).toEqual(['first reply'])
    expect(attempts).toBeGreaterThan(1)
  })

  test('to a recipient that the server refuses is dropped, and the thread goes on', async () => {
    const house = await newHouse()
    servers.policy = (attributes) =>
      attributes.get('sender') === AGENT ? '550 5.1.1 no such mailbox' : 'DUNNO'
    await servers.send(ANN, { text: 'hello', messageId: '<first@example.org>' })
    await servers.waitForMail(AGENT, 1)
    const notes = await house.runOnce()
    expect(notes).toContain('is dropped (refused: the SMTP server localhost did not take the mail: 550 5.1.1')
    expect((await house.ok('outbox', '--dropped')).stdout).toContain('first reply')
    servers.policy = () => 'DUNNO'
    await servers.send(ANN, { text: 'again', references: '<first@example.org>' })
    await servers.waitForMail(AGENT, 2)
    await house.runOnce()
    expect(await repliesToAnn()).toEqual(['second reply'])
  })
})
