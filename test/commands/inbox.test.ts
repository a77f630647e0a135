import { truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const ID = /[0-9a-f]{8}-[0-9a-f-]{27}/
const FOREIGN = '00000000-0000-4000-8000-000000000001'

/** Queues a message and returns its id. */
async function queued(house: House, agent: string, content: string, ...flags: string[]): Promise<string> {
  const { exit, stderr } = await house.run(['send', agent, content, '--queue', '--no-drain', ...flags])
  expect(exit, stderr).toBe(0)
  return (ID.exec(stderr) as RegExpExecArray)[0]
}

/** Puts two replies of an agent into the operator's inbox, and returns their ids. */
async function withReplies(house: House): Promise<string[]> {
  await house.spawn('a')
  await queued(house, 'a', 'one')
  await queued(house, 'a', 'two')
  await house.ok('deliver', 'a')
  const { json } = await house.ok('inbox', '--json')
  return json.messages.map(({ message_id }: { message_id: string }) => message_id)
}

describe.concurrent('inbox of an agent', () => {
  test('shows pending messages in the order of delivery, and removes none', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const first = await queued(house, 'a', 'one')
    const second = await queued(house, 'a', 'two', '--kind', 'notification', '--not-before', '2h')
    const log = house.log(id)
    const { json, stderr } = await house.ok('inbox', 'a', '--json')
    const mail = {
      from: 'operator',
      from_path: 'operator',
      reply_to: null,
      control: null,
      key: null,
      created_at: expect.stringMatching(/Z$/),
      actor: expect.objectContaining({ face: 'cli' }),
    }
    const time = expect.stringMatching(/Z$/)
    expect(json).toStrictEqual({
      agent: id,
      messages: [
        { ...mail, message_id: first, kind: 'request', content: 'one', not_before: null },
        { ...mail, message_id: second, kind: 'notification', content: 'two', not_before: time },
      ],
      damaged: [],
      unknown: [],
    })
    expect(stderr).toBe('')
    const { stdout } = await house.ok('inbox', 'a')
    expect(stdout).toMatch(
      /^request \S+ from operator, [-\d]+ [:\d]+Z\n {4}one\n\nnotification .*, not before .*Z\n {4}two\n$/,
    )
    expect(house.inbox(id)).toHaveLength(2)
    expect(house.log(id)).toBe(log)
  })

  test('names damaged files, shows the other messages, and exits 10', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await queued(house, 'a', 'whole')
    const half = await queued(house, 'a', 'half')
    const nul = await queued(house, 'a', 'nul')
    const huge = await queued(house, 'a', 'huge')
    const file = (name: string): string => house.agentFile(id, `inbox/${name}.json`)
    truncateSync(file(half), 40)
    writeFileSync(file(nul), Buffer.alloc(400))
    truncateSync(file(huge), 100 * 1024 * 1024)
    const { messages } = (await house.run(['inbox', 'a', '--json'])).json
    writeFileSync(file(FOREIGN), `${JSON.stringify(messages[0])}\n`)
    const shown = await house.run(['inbox', 'a', '--json'])
    expect(shown.exit).toBe(10)
    expect(shown.json.messages.map(({ content }: { content: string }) => content)).toEqual(['whole'])
    expect(new Set(shown.json.damaged)).toEqual(new Set([half, nul, huge, FOREIGN].map(file)))
    const text = await house.run(['inbox', 'a'])
    expect(text).toMatchObject({ exit: 10, stdout: expect.stringContaining('whole') })
    expect(text.stdout).toContain(`damaged: ${file(half)}`)
    expect(text.stderr).toMatch(/^substrat: 4 files are not complete messages/)
    // The agent runs as if the damaged files did not exist.
    expect((await house.run(['deliver', 'a'])).exit).toBe(0)
    expect(house.count(id, 'mail.delivered')).toBe(1)
    expect(house.inbox(id)).toHaveLength(4)
  })

  test('inside its tool, shows only its inbox and those of its children', async () => {
    const house = new House()
    const root = await house.spawn('root')
    const child = await house.spawn('child', '--parent', 'root')
    await house.spawn('other')
    await queued(house, 'root', 'for the root')
    await queued(house, 'root/child', 'for the child')
    const env = { SUBSTRAT_AGENT: root }
    expect((await house.run(['inbox', '--json'], { env })).json.agent).toBe(root)
    expect((await house.run(['inbox', 'child', '--json'], { env })).json.agent).toBe(child)
    for (const words of [['other'], ['operator']])
      expect((await house.run(['inbox', ...words, '--json'], { env })).json.error.code).toBe('TREE_RULES')
    const above = await house.run(['inbox', root], { env: { SUBSTRAT_AGENT: child } })
    expect(above.exit).toBe(13)
    expect((await house.run(['inbox', '--take'], { env })).exit).toBe(13)
  })
})

describe.concurrent('inbox of the operator', () => {
  test('is shown without an argument, and is empty without a home', async () => {
    const house = new House()
    expect(await house.run(['inbox'])).toMatchObject({ exit: 0, stdout: 'no messages\n', stderr: '' })
    expect((await house.run(['inbox', '--take'])).exit).toBe(0)
    expect(house.exists()).toBe(false)
    await withReplies(house)
    for (const words of [[], ['operator']]) {
      const { json } = await house.ok('inbox', ...words, '--json')
      expect(json.agent).toBe('operator')
      expect(json.messages).toMatchObject([
        { kind: 'response', from_path: 'a', content: 'echo: one', reply_to: expect.stringMatching(ID) },
        { kind: 'response', from_path: 'a', content: 'echo: two' },
      ])
    }
  })

  test('--take prints and removes the messages; --take ID removes only that one', async () => {
    const house = new House()
    const [first = '', second = ''] = await withReplies(house)
    const one = await house.ok('inbox', '--take', second, '--json')
    expect(one.json.messages).toMatchObject([{ message_id: second }])
    const rest = await house.ok('inbox', '--take')
    expect(rest.stdout).toContain(first.slice(0, 8))
    expect(rest.stdout).not.toContain(second.slice(0, 8))
    expect((await house.ok('inbox')).stdout).toBe('no messages\n')
    expect((await house.run(['inbox', '--take', first])).exit).toBe(3)
  })

  test('has the message that each reply answers, and the short ids that --take accepts', async () => {
    const house = new House()
    const [first = '', second = ''] = await withReplies(house)
    const { stdout } = await house.ok('inbox')
    expect(stdout.replace(/\d{4}-\d\d-\d\d [\d:]+Z/g, 'TIME')).toBe(
      [
        `response ${first.slice(0, 8)} from a, TIME\n    > one\n    echo: one\n`,
        `response ${second.slice(0, 8)} from a, TIME\n    > two\n    echo: two\n`,
      ].join('\n'),
    )
    const { json } = await house.ok('inbox', '--take', second.slice(0, 8).toUpperCase(), '--json')
    expect(json.messages).toMatchObject([{ message_id: second }])
    for (const word of ['', 'abc', '-'])
      expect((await house.run(['inbox', '--take', '--', word])).exit, word).toBe(3)
    expect((await house.ok('inbox', '--json')).json.messages).toMatchObject([{ message_id: first }])
  })

  test('an unknown id is exit 3, and no message is removed', async () => {
    const house = new House()
    const [first = ''] = await withReplies(house)
    for (const word of ['nonsense', '../../x', FOREIGN]) {
      const { exit, json } = await house.run(['inbox', '--take', first, word, '--json'])
      expect([exit, json.error.code, json.error.message_id]).toEqual([3, 'MESSAGE_NOT_FOUND', word])
    }
    expect((await house.ok('inbox', '--json')).json.messages).toHaveLength(2)
  })

  test('messages stay if the reader has closed the pipe', async () => {
    const house = new House()
    await withReplies(house)
    await house.run(['inbox', '--take'], { stdout: 'closed' })
    expect((await house.ok('inbox', '--json')).json.messages).toHaveLength(2)
  })

  test('names damaged files and leaves them, and removes the other messages', async () => {
    const house = new House()
    const [first = ''] = await withReplies(house)
    const file = path.join(house.home, 'operator', 'inbox', `${first}.json`)
    truncateSync(file, 60)
    const taken = await house.run(['inbox', '--take', '--json'])
    expect([taken.exit, taken.json.damaged, taken.json.messages.length]).toEqual([10, [file], 1])
    const left = await house.run(['inbox', '--json'])
    expect([left.exit, left.json.messages]).toEqual([10, []])
  })
})

describe.concurrent('send --reply-to', () => {
  const asks = { name: 'send_message', input: { to: 'operator', content: 'May I?' } }
  const asking = async (house: House): Promise<{ id: string; request: string }> => {
    const scenario = house.scenario('s.json', { tools: [asks] }, { say: 'asked' }, { say: 'thanks' })
    const id = await house.spawn('a', '--option', scenario, '--allow', 'tree')
    await house.ok('send', 'a', 'go')
    const { json } = await house.ok('inbox', '--json')
    expect(json.messages).toMatchObject([{ kind: 'request', from: id, content: 'May I?' }])
    return { id, request: json.messages[0].message_id }
  }

  test('answers the request of an agent, which gets a turn, and removes the request', async () => {
    const house = new House()
    const { id, request } = await asking(house)
    await house.ok('send', 'a', 'You may.', '--reply-to', request)
    const [, mail] = house
      .records(id)
      .filter(({ kind }) => kind === 'mail.delivered' || kind === 'message.user')
    expect(mail).toMatchObject({
      mail_kind: 'response',
      reply_to: request,
      content: 'You may.',
      from: 'operator',
    })
    expect((await house.ok('show', 'a', '--reply')).stdout).toBe('thanks\n')
    expect((await house.ok('inbox')).stdout).toBe('no messages\n')
    expect(house.findings()).toEqual([])
  })

  test('exits 3 and stores nothing if the id is not an open request of that agent', async () => {
    const house = new House()
    const { request } = await asking(house)
    const other = await house.spawn('b')
    for (const [agent, id] of [
      ['b', request],
      ['a', FOREIGN],
    ] as const)
      expect((await house.run(['send', agent, 'yes', '--reply-to', id])).exit).toBe(3)
    expect(house.inbox(other)).toEqual([])
    await house.ok('send', 'a', 'yes', '--reply-to', request)
    expect((await house.run(['send', 'a', 'no', '--reply-to', request])).exit).toBe(3)
  })
})
