/** The tools for mail between agents: sent messages, refused messages, and waiting for a reply in place. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { agent, call, calling, mails, of, type Response, results, waiting } from '../support/tool-agents.js'

const TREE = ['--allow', 'tree']

function send(to: string, content: string, more: object = {}): { name: string; input: object } {
  return call('send_message', { to, content, ...more })
}

describe.concurrent('send_message', () => {
  test('a request starts a turn of the recipient, whose reply starts one of the sender', async () => {
    const house = new House()
    const id = await agent(house, 'a', [send('kid', 'how far?'), 'asked', 'thanks'], ...TREE)
    const kid = await agent(house, 'a/kid', ['half'])
    const { text } = await calling(house, id)
    const [request] = of(house, kid, 'mail.delivered')
    expect(text).toBe(`sent as ${request?.message_id}`)
    expect(request).toMatchObject({ from: id, from_path: 'a', mail_kind: 'request', content: 'how far?' })
    const [reply] = of(house, id, 'mail.delivered')
    expect(reply).toMatchObject({ mail_kind: 'response', reply_to: request?.message_id, content: 'half' })
    expect(house.findings()).toEqual([])
  })

  test('a notification starts a turn, and gets no reply', async () => {
    const house = new House()
    const id = await agent(house, 'a', [send('kid', 'it is done', { kind: 'notification' }), 'ok'], ...TREE)
    const kid = await agent(house, 'a/kid')
    await calling(house, id)
    expect([mails(house, kid), mails(house, id)]).toEqual([['notification: it is done'], []])
  })

  test('a response answers the open request before the end of its turn; any other response is dropped', async () => {
    const house = new House()
    const id = await agent(house, 'a', [send('kid', 'how far?'), 'asked'], ...TREE)
    const kid = await agent(house, 'a/kid', [], ...TREE)
    await house.ok('send', 'a', 'go', '--no-drain')
    const [request] = waiting(house, kid)
    const answer = { kind: 'response', reply_to: request?.message_id }
    house.scenario(
      'kid.json',
      { tools: [send('parent', 'half', answer)] },
      { tools: [send('parent', 'again', answer), send('parent', 'none', { kind: 'response' })] },
      { say: 'the rest' },
    )
    await house.ok('set', 'a/kid', '--option', 'scenario=kid.json')
    await house.ok('deliver', '--all')
    expect(mails(house, id)).toEqual(['response: half'])
    expect(results(house, kid).map(({ text }) => text)).toEqual([
      'answered',
      'Dropped: reply_to is not an open request of this turn.',
      'Dropped: reply_to is not an open request of this turn.',
    ])
    expect(house.findings()).toEqual([])
  })

  test('an invalid time is refused, and the turn continues', async () => {
    const house = new House()
    const not_before = '+275760-09-13T00:00:00Z'
    const calls = [send('kid', 'x', { not_before }), call('remind_me', { content: 'x', not_before })]
    const id = await agent(house, 'a', [calls, 'ok'], ...TREE)
    const kid = await agent(house, 'a/kid')
    expect(await calling(house, id)).toMatchObject({ isError: true })
    expect(results(house, id)).toHaveLength(2)
    for (const { text } of results(house, id)) expect(text).toContain('must be a time in ISO 8601')
    expect(house.inbox(kid)).toEqual([])
  })

  test('a message with not_before is not delivered earlier', async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [
        [
          send('kid', 'later', { delay_seconds: 3600 }),
          send('kid', 'past', { not_before: '2020-01-01T00:00:00Z' }),
        ],
        'ok',
      ],
      ...TREE,
    )
    const kid = await agent(house, 'a/kid')
    await calling(house, id)
    await house.ok('deliver', '--all')
    expect(mails(house, kid)).toEqual(['request: past'])
    expect(waiting(house, kid).map(({ content }) => content)).toEqual(['later'])
  })

  test('reaches the parent and siblings by word and name; a root writes to the operator', async () => {
    const house = new House()
    const top = await agent(
      house,
      'top',
      [send('operator', 'look here', { kind: 'notification' }), 'ok'],
      ...TREE,
    )
    const words = ['parent', 'top', 'b', 'top/b']
    const a = await agent(
      house,
      'top/a',
      [words.map((to) => send(to, `for ${to}`, { kind: 'notification' })), 'ok'],
      ...TREE,
    )
    const b = await agent(house, 'top/b')
    await house.ok('send', a, 'go', '--no-drain')
    const of = (id: string): string[] => waiting(house, id).map(({ content }) => content)
    expect([of(top).sort(), of(b).sort()]).toEqual([
      ['for parent', 'for top'],
      ['for b', 'for top/b'],
    ])
    await house.ok('send', top, 'go', '--no-drain')
    expect((await house.ok('inbox')).stdout).toContain('look here')
  })

  test('is refused and stores nothing if the tree does not allow it', async () => {
    const house = new House()
    const refusals: [string, RegExp][] = [
      ['top', /it can write only to its parent, children and siblings/],
      ['top/a/b/c/d', /it can write only to its parent, children and siblings/],
      ['top/a/b', /an agent cannot write to itself/],
      ['other', /only to its parent/],
      ['operator', /only a root may write to the operator/],
      ['nobody', /there is no agent "nobody"/],
      ['gone', /there is no agent "gone"/],
      ['top/a/b/gone', /top\/a\/b\/gone is terminated and takes no messages/],
    ]
    await agent(house, 'top')
    await agent(house, 'top/a')
    const b = await agent(house, 'top/a/b', [refusals.map(([to]) => send(to, 'x')), 'ok'], ...TREE)
    await agent(house, 'top/a/b/c')
    await agent(house, 'top/a/b/c/d')
    await agent(house, 'top/a/b/gone')
    await house.ok('terminate', 'top/a/b/gone')
    const root = await agent(house, 'other', [[send('top', 'x'), send('other', 'x')], 'ok'], ...TREE)
    await calling(house, b)
    const said = results(house, b)
    for (const [at, [to, why]] of refusals.entries()) {
      expect([to, said[at]?.isError]).toEqual([to, true])
      expect(said[at]?.text).toMatch(why)
    }
    await calling(house, root)
    expect(results(house, root).map(({ text }) => text)).toEqual([
      expect.stringContaining('roots cannot write to each other'),
      expect.stringContaining('an agent cannot write to itself'),
    ])
    for (const id of Object.keys(house.logs())) expect(house.inbox(id)).toEqual([])
  })

  test('is refused with an unknown kind or an invalid time', async () => {
    const house = new House()
    const bad = [
      { kind: 'error' },
      { not_before: 'soon' },
      { wait: true, kind: 'notification' },
      { wait: true, delay_seconds: 1 },
    ]
    const id = await agent(house, 'a', [bad.map((more) => send('kid', 'x', more)), 'ok'], ...TREE)
    const kid = await agent(house, 'a/kid')
    await calling(house, id)
    expect(results(house, id).map(({ isError }) => isError)).toEqual([true, true, true, true])
    expect(house.inbox(kid)).toEqual([])
  })
})

describe.concurrent('send_message with wait', () => {
  test('returns the reply, or the error of a failed turn, as the result', async () => {
    const house = new House()
    const ask = send('kid', 'how far?', { wait: true })
    const id = await agent(house, 'a', [ask, 'ok', ask, 'ok'], ...TREE)
    await agent(house, 'a/kid', ['half', { fail: { type: 'authentication' } }])
    expect(await calling(house, id)).toMatchObject({ text: 'half', isError: false })
    const failed = await calling(house, id)
    expect([failed.isError, failed.text]).toEqual([
      true,
      expect.stringContaining('the scenario makes this request fail: authentication'),
    ])
    expect(of(house, id, 'run.started')).toHaveLength(2)
    const delivered = of(house, id, 'mail.delivered')
    expect(delivered.map(({ mail_kind, call_id }) => [mail_kind, call_id])).toEqual([
      ['response', 'call_0_0'],
      ['error', 'call_2_0'],
    ])
    expect(house.inbox(id)).toEqual([])
  })

  test('works three levels deep with one slot: waiting agents lend theirs', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1', SUBSTRAT_TIMEOUT: '1h' })
    const down = (to: string): Response[] => [send(to, 'go on', { wait: true }), `${to} is done`]
    const id = await agent(house, 'a', down('b'), ...TREE)
    await agent(house, 'a/b', down('c'), ...TREE)
    await agent(house, 'a/b/c', down('d'), ...TREE)
    await agent(house, 'a/b/c/d', ['bottom'])
    expect((await calling(house, id)).text).toBe('c is done')
    expect(house.findings()).toEqual([])
  })

  test('gives each of many parents that wait for one child its own reply', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1', SUBSTRAT_TIMEOUT: '1h' })
    await agent(house, 'top')
    const names = ['a', 'b', 'c']
    for (const name of names)
      await agent(house, `top/${name}`, [send('helper', `from ${name}`, { wait: true }), 'ok'], ...TREE)
    const helper = await agent(house, 'top/helper')
    const ids = await Promise.all(
      names.map(async (name) => (await house.ok('show', `top/${name}`, '--json')).json.agent.id),
    )
    const said = await Promise.all(ids.map((id) => calling(house, id)))
    expect(said.map(({ text }) => text.split('\n')[1])).toEqual(['from a', 'from b', 'from c'])
    expect(of(house, helper, 'run.completed')).toHaveLength(3)
    expect(house.findings()).toEqual([])
  })

  test('is refused if the recipient waits for the sender, directly or through others', async () => {
    const house = new House()
    const id = await agent(house, 'a', [send('b', 'x', { wait: true }), 'ok'], ...TREE)
    await agent(house, 'a/b', [send('c', 'x', { wait: true }), 'b is done'], ...TREE)
    await agent(house, 'a/c', [send('parent', 'x', { wait: true }), 'c is done'], ...TREE)
    expect((await calling(house, id)).text).toBe('b is done')
    const c = (await house.ok('show', 'a/c', '--json')).json.agent.id
    expect(results(house, c)[0]).toEqual({
      tool: 'send_message',
      isError: true,
      text: 'this wait would be a deadlock: the other agent is already waiting for this one',
    })
    expect(mails(house, id)).toHaveLength(1)
  })

  test('explains why there is no reply yet, and that it will come as a message', async () => {
    const house = new House()
    const ask = send('kid', 'write it', { wait: true })
    const id = await agent(house, 'a', [ask, 'ok', ask, 'ok', 'thanks'], ...TREE)
    await agent(house, 'a/kid', [call('write_file', { path: 'x', content: 'y' }), 'written'])
    await house.ok('gate', 'a/kid')
    const gated = await calling(house, id)
    expect(gated).toMatchObject({ isError: false })
    expect(gated.text).toMatch(
      /^No reply yet: it is gated\. The reply will arrive as a message \(request \S+\)\.$/,
    )
    await house.ok('ungate', 'a/kid')
    expect((await calling(house, id)).text).toMatch(/^No reply yet: it is waiting for approval\./)
    await house.ok('approve', 'a/kid')
    expect(mails(house, id)[0]).toBe('response: written')
  })

  test('returns an error if the recipient is terminated meanwhile', async () => {
    const house = new House()
    const id = await agent(house, 'a', [send('kid', 'x', { wait: true }), 'ok'], ...TREE)
    const kid = await agent(house, 'a/kid', [{ delay_ms: 3_600_000 }])
    const sender = house.start(['send', 'a', 'go'])
    await house.waitForRecord(kid, 'model.requested')
    await house.ok('terminate', 'a/kid')
    expect((await sender.result).exit).toBe(0)
    expect(results(house, id)[0]).toMatchObject({
      isError: true,
      text: expect.stringContaining('was cancelled'),
    })
    expect(mails(house, id)).toHaveLength(1)
  })
})

test('a signal stops both turns of a wait in place; after continuing, the reply comes once', async () => {
  const house = new House({ SUBSTRAT_SHUTDOWN_GRACE: '0s' })
  const id = await agent(house, 'a', [send('kid', 'x', { wait: true }), 'a is done'], ...TREE)
  const kid = await agent(house, 'a/kid', [{ after_file: 'go', say: 'half' }])
  const sender = house.start(['send', 'a', 'go'])
  await house.waitForRecord(kid, 'model.requested')
  expect((await sender.kill('SIGTERM')).exit).toBe(143)
  house.write('go', '')
  await house.run(['recover', '--all', '--continue', 'all'])
  await house.run(['deliver', '--all'])
  expect(of(house, kid, 'mail.delivered')).toHaveLength(1)
  expect(of(house, kid, 'message.agent')).toHaveLength(1)
  expect(mails(house, id).filter((mail) => mail === 'response: half')).toHaveLength(1)
  expect(of(house, id, 'message.agent')[0]?.content).toBe('a is done')
  expect(house.findings(true)).toEqual([])
})

describe.concurrent('broadcast', () => {
  test('goes to each living child, and to no other agent', async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [call('broadcast', { content: 'all' }), 'ok', call('broadcast', { content: 'none' }), 'ok'],
      ...TREE,
    )
    const kids = [await agent(house, 'a/one'), await agent(house, 'a/two'), await agent(house, 'a/three')]
    const below = await agent(house, 'a/one/below')
    await house.ok('terminate', 'a/three')
    const { text } = await calling(house, id)
    expect(text).toMatch(/^a\/one: sent as \S+\na\/two: sent as \S+$/)
    expect([...kids, below].map((kid) => mails(house, kid))).toEqual([
      ['notification: all'],
      ['notification: all'],
      [],
      [],
    ])
  })

  test('reports a child that is terminated meanwhile, and reaches the others', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1' })
    const id = await agent(
      house,
      'a',
      [call('broadcast', { content: 'all', kind: 'request' }), 'ok'],
      ...TREE,
    )
    const names = Array.from({ length: 12 }, (_, at) => `k${at}`)
    const kids = await Promise.all(names.map((name) => agent(house, `a/${name}`)))
    const sender = house.start(['send', 'a', 'go', '--no-drain'])
    const [end] = await Promise.all([house.run(['terminate', 'a/k11']), sender.result])
    expect(end.exit).toBe(0)
    const said = results(house, id)[0]?.text.split('\n') ?? []
    const sent = said.filter((each) => each.includes(': sent as'))
    await house.ok('deliver', '--all')
    // Three orders are possible: the child no longer exists, its inbox refuses the message, or the message returns as an error.
    const last = kids[11] as string
    const isSent = sent.some((each) => each.startsWith('a/k11'))
    expect(mails(house, last)).toEqual([])
    const errors = mails(house, id).filter((mail) =>
      mail.startsWith('error: a/k11 was terminated before it received'),
    )
    expect(errors).toHaveLength(isSent ? 1 : 0)
    expect(mails(house, id).filter((mail) => mail.startsWith('response'))).toHaveLength(11)
    expect(house.findings()).toEqual([])
  })
})

describe.concurrent('check_inbox', () => {
  test('shows pending messages without removing them', async () => {
    const house = new House()
    const id = await agent(house, 'a', [call('check_inbox'), 'ok', call('check_inbox'), 'ok'], ...TREE)
    expect((await calling(house, id)).text).toBe('Your inbox is empty.')
    const later = await house.ok('send', 'a', 'first', '--not-before', '1h', '--kind', 'notification')
    expect(later.exit).toBe(0)
    const { text } = await calling(house, id)
    expect(JSON.parse(text)).toMatchObject({ kind: 'notification', from: 'operator', content: 'first' })
    expect(house.inbox(id)).toHaveLength(1)
  })
})
