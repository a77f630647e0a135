/** Requests, replies and errors between agents, in their logs and inboxes. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import type { SessionRecord } from '../../src/session/records.js'
import { FileStore } from '../../src/storage/file-store.js'
import { House } from '../support/cli.js'
import { forged, posted } from '../support/mail.js'

type Delivered = SessionRecord<'mail.delivered'>

const mailOf = (house: House, id: string): Delivered[] =>
  house.records(id).flatMap((record) => (record.kind === 'mail.delivered' ? [record] : []))

const errorsOf = (house: House, id: string): Delivered[] =>
  mailOf(house, id).filter(({ mail_kind }) => mail_kind === 'error')

const sentId = (stderr: string): string => /message ([0-9a-f-]{36})/.exec(stderr)?.[1] ?? ''

/** A parent, the recipient, and its sibling, the sender. */
async function family(
  house: House,
  ...flags: string[]
): Promise<Record<'parent' | 'asked' | 'asker', string>> {
  const parent = await house.spawn('parent')
  const asked = await house.spawn('asked', '--parent', 'parent', ...flags)
  return { parent, asked, asker: await house.spawn('asker', '--parent', 'parent') }
}

const ask = ['send', 'parent/asked', 'how far?', '--from', 'parent/asker', '--no-drain']

describe.concurrent('a request of one agent to another', () => {
  test('gets its reply into the inbox of the sender, where it starts a turn', async () => {
    const house = new House()
    const { parent, asked, asker } = await family(house)
    const id = sentId((await house.ok(...ask)).stderr)
    expect(house.inbox(asked)).toEqual([`${id}.json`])
    await house.ok('gate', 'parent/asker')
    await house.ok('deliver', 'parent/asked')
    const { messages } = (await house.ok('inbox', 'parent/asker', '--json')).json
    const reply = { kind: 'response', from: asked, from_path: 'parent/asked', reply_to: id }
    expect(messages).toMatchObject([{ ...reply, content: expect.stringContaining('how far?') }])
    await house.ok('ungate', 'parent/asker')
    await house.ok('deliver', '--all')
    const { message_id } = messages[0]
    expect(mailOf(house, asker)).toMatchObject([
      { message_id, mail_kind: 'response', from: asked, reply_to: id },
    ])
    expect(house.count(asker, 'run.completed')).toBe(1)
    // The parent gets no mail.
    expect([mailOf(house, parent), house.inbox(parent)]).toEqual([[], []])
    expect(house.findings()).toEqual([])
  })

  test("gets the child's reply in a second turn; the operator gets the reply of the first", async () => {
    const house = new House()
    const to = { name: 'send_message', input: { to: 'child', content: 'work' } }
    const scenario = house.scenario('s.json', { tools: [to] }, { say: 'asked' }, { say: 'all done' })
    const lead = await house.spawn('lead', '--option', scenario, '--allow', 'tree')
    await house.spawn('child', '--parent', 'lead', '--provider', 'scripted')
    const sent = await house.ok('send', 'lead', 'go', '--queue')
    expect((await house.ok('show', 'lead', '--reply')).stdout).toBe('all done\n')
    const { messages } = (await house.ok('inbox', '--json')).json
    // The operator sent one request and gets one reply, from the turn of that request.
    expect(messages).toMatchObject([{ kind: 'response', reply_to: sentId(sent.stderr), content: 'asked' }])
    expect(mailOf(house, lead).map(({ mail_kind }) => mail_kind)).toEqual(['request', 'response'])
  })

  test('with a key is stored once; a repetition prints the same reply, and another message is refused', async () => {
    const house = new House()
    const { asked, asker } = await family(house)
    const keyed = [...ask, '--key', 'k']
    for (let n = 0; n < 2; n++) await house.ok(...keyed)
    expect(house.inbox(asked)).toHaveLength(1)
    const other = ['send', 'parent/asked', 'another', '--from', 'parent/asker', '--key', 'k', '--no-drain']
    expect((await house.run(other)).exit).toBe(13)
    await house.ok('deliver', '--all')
    expect((await house.ok(...keyed)).stdout).toContain('how far?')
    // Inside the agent's tool it is the same message. The same key of a person is another message.
    const env = { SUBSTRAT_AGENT: asker }
    expect((await house.run(['send', asked, 'how far?', '--key', 'k'], { env })).stdout).toContain('how far?')
    expect(mailOf(house, asked)).toHaveLength(1)
    expect((await house.run(['send', 'parent/asked', 'mine', '--key', 'k'])).stdout).toBe('echo: mine\n')
    expect((await house.run(other)).exit).toBe(13)
    expect(house.findings()).toEqual([])
  })

  test('a notification gets no reply', async () => {
    const house = new House()
    const { asked, asker } = await family(house)
    await house.ok(...ask, '--kind', 'notification')
    await house.ok('deliver', '--all')
    expect(mailOf(house, asked)).toMatchObject([{ mail_kind: 'notification' }])
    expect([mailOf(house, asker), house.inbox(asker)]).toEqual([[], []])
  })
})

describe.concurrent('a turn that did not complete sends an error to the requester and the parent', () => {
  const expectErrors = (
    house: House,
    ids: Record<'parent' | 'asker', string>,
    why: RegExp,
    request: string,
  ): void => {
    expect(errorsOf(house, ids.asker)).toMatchObject([
      { reply_to: request, content: expect.stringMatching(why) },
    ])
    const [error, ...others] = errorsOf(house, ids.parent)
    expect([error?.content, error?.reply_to, others]).toEqual([expect.stringMatching(why), undefined, []])
    expect(house.findings()).toEqual([])
  }

  test('when it failed', async () => {
    const house = new House()
    const ids = await family(house, '--provider', 'exec', '--option', 'command=exit 3')
    const request = sentId((await house.ok(...ask)).stderr)
    expect((await house.run(['deliver', '--all'])).exit).toBe(9)
    expectErrors(house, ids, /failed: the command exited 3/, request)
  })

  test('when it took too long', async () => {
    const house = new House()
    const ids = await family(house, '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    const request = sentId((await house.ok(...ask, '--turn-timeout', '100ms')).stderr)
    expect((await house.run(['deliver', '--all'])).exit).toBe(12)
    expectErrors(house, ids, /timed out: it exceeded its time limit/, request)
  })

  test('when it was cancelled', async () => {
    const house = new House()
    const ids = await family(house, '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    const request = sentId((await house.ok(...ask)).stderr)
    const deliver = house.start(['deliver', '--all'])
    await house.waitForRecord(ids.asked, 'model.requested')
    await house.ok('cancel', 'parent/asked')
    expect((await deliver.result).exit).toBe(14)
    await house.ok('deliver', '--all')
    expectErrors(house, ids, /cancelled: another command cancelled it/, request)
  })

  test('but not when its process was killed: its reply comes when the turn is continued', async () => {
    const house = new House()
    const ids = await family(house, '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    const request = sentId((await house.ok(...ask)).stderr)
    const deliver = house.start(['deliver', '--all'])
    await house.waitForRecord(ids.asked, 'model.requested')
    await deliver.kill()
    await house.run(['recover', '--all', '--continue', 'none'])
    expect([errorsOf(house, ids.asker), errorsOf(house, ids.parent)]).toEqual([[], []])
    house.scenario('s.json', { say: 'after all' })
    await house.ok('deliver', '--all')
    expect(mailOf(house, ids.asker)).toMatchObject([
      { mail_kind: 'response', reply_to: request, content: 'after all' },
    ])
    expect(house.findings()).toEqual([])
  })

  test("for a root, to the operator's inbox", async () => {
    const house = new House()
    await house.spawn('a', '--provider', 'exec', '--option', 'command=exit 3')
    const sent = await house.run(['send', 'a', 'go', '--queue'])
    expect(sent.exit).toBe(0)
    const { messages } = (await house.ok('inbox', '--json')).json
    expect(messages).toMatchObject([
      {
        kind: 'error',
        from_path: 'a',
        reply_to: sentId(sent.stderr),
        content: expect.stringContaining('exited 3'),
      },
    ])
  })
})

describe.concurrent('refused mail', () => {
  test('to a full inbox is exit 13 and not stored; a reply still is', async () => {
    const house = new House()
    const { parent, asked } = await family(house)
    const store = FileStore.openForWrite(house.home)
    await house.ok('gate', 'parent')
    for (let n = 0; n < limits.inboxMessagesMax; n++) forged(store, parent, `m${n}`, { sequence: n + 1 })
    for (const words of [
      ['parent', 'one more', '--queue'],
      ['parent', 'one more', '--kind', 'notification'],
    ]) {
      const { exit, json } = await house.run(['send', ...words, '--json'])
      expect([exit, json.error.code, json.error.pending]).toEqual([13, 'QUEUE_FULL', limits.inboxMessagesMax])
    }
    expect(house.inbox(parent)).toHaveLength(limits.inboxMessagesMax)
    await house.ok('send', 'parent/asked', 'for the parent', '--from', 'parent')
    expect(house.inbox(parent)).toHaveLength(limits.inboxMessagesMax + 1)
    expect(house.count(asked, 'run.completed')).toBe(1)
  })

  test('to a terminated agent is exit 13 and not stored', async () => {
    const house = new House()
    const { asked, asker } = await family(house)
    await house.ok('terminate', 'parent/asked')
    const log = house.log(asked)
    for (const flags of [['--queue'], ['--from', asker], ['--not-before', '1s'], []]) {
      const { exit, stdout } = await house.run(['send', asked, 'hello', ...flags])
      expect([exit, stdout]).toEqual([13, ''])
    }
    expect([house.inbox(asked), house.log(asked)]).toEqual([[], log])
  })

  test('from a terminated agent is exit 13 and not stored', async () => {
    const house = new House()
    const { asked, asker } = await family(house)
    await house.ok('terminate', asker)
    const { exit, stderr } = await house.run(['send', asked, 'hello', '--from', asker])
    expect([exit, stderr]).toEqual([13, expect.stringContaining('is terminated and cannot send messages')])
    expect([house.inbox(asked), house.kinds(asked)]).toEqual([[], ['session.created']])
  })

  test('for an agent that is terminated before its turn gets an error as the answer', async () => {
    const house = new House()
    const { asked, asker } = await family(house)
    await house.ok('gate', 'parent/asked')
    const request = sentId((await house.ok(...ask)).stderr)
    const later = sentId((await house.ok('send', asked, 'later', '--not-before', '2h')).stderr)
    await house.ok('terminate', asked)
    expect(errorsOf(house, asker)).toMatchObject([
      { reply_to: request, content: expect.stringContaining('terminated') },
    ])
    const { messages } = (await house.ok('inbox', '--json')).json
    expect(messages).toMatchObject([{ kind: 'error', reply_to: later }])
    expect(house.inbox(asked)).toEqual([])
    expect(house.findings()).toEqual([])
  })
})

describe.concurrent('the order of delivery', () => {
  test('is that of each sender; each request gets a turn, and up to 100 notifications share one', async () => {
    const house = new House()
    const { parent, asked, asker } = await family(house)
    const store = FileStore.openForWrite(house.home)
    const senders = [
      { from: parent, from_path: 'parent' },
      { from: asker, from_path: 'parent/asker' },
    ]
    for (let n = 0; n < 75; n++)
      for (const sender of senders) posted(store, asked, `${n}`, { ...sender, kind: 'notification' })
    for (const sender of senders) posted(store, asked, 'question', sender)
    expect((await house.run(['deliver', 'parent/asked'])).exit).toBe(0)
    const turns = new Map<string, Delivered[]>()
    for (const mail of mailOf(house, asked)) turns.set(mail.run_id, [...(turns.get(mail.run_id) ?? []), mail])
    expect([...turns.values()].map(({ length }) => length)).toEqual([100, 50, 1, 1])
    for (const { from } of senders) {
      const contents = mailOf(house, asked).flatMap((mail) => (mail.from === from ? [mail.content] : []))
      expect(contents).toEqual([...Array.from({ length: 75 }, (_, n) => `${n}`), 'question'])
    }
  })

  test('a message id is delivered once, even if it is stored several times', async () => {
    const house = new House()
    const { asked } = await family(house)
    const store = FileStore.openForWrite(house.home)
    const message_id = randomUUID()
    posted(store, asked, 'once', { message_id })
    await house.ok('deliver', '--all')
    forged(store, asked, 'once', { message_id })
    await house.ok('deliver', 'parent/asked')
    expect(mailOf(house, asked)).toHaveLength(1)
    expect(house.inbox(asked)).toEqual([])
  })
})
