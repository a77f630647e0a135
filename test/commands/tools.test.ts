/** The tools with which an agent creates, inspects and controls children, and sets reminders and metadata. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { agent, call, calling, mails, of, type Response, results } from '../support/tool-agents.js'
import { waitFor } from '../support/wait.js'

const TREE = ['--allow', 'tree']

describe.concurrent('without --allow', () => {
  test('a tool that changes things waits for approval, and approve runs it', async () => {
    const house = new House()
    const calls = [
      call('spawn_agent', { name: 'kid' }),
      call('set_metadata', { metadata: { a: 'b' } }),
      call('remind_me', { content: 'x', delay_seconds: 3600 }),
      call('list_children'),
    ]
    const id = await agent(house, 'a', [calls, 'done'])
    const parked = await house.run(['send', 'a', 'go', '--json'])
    expect(parked.exit).toBe(5)
    const asked = parked.json.wait.asks.map(({ tool }: { tool: string }) => tool)
    expect(asked).toEqual(['spawn_agent', 'set_metadata', 'remind_me'])
    expect(house.ids()).toEqual([id])
    expect((await house.ok('approve', 'a')).stdout).toBe('done\n')
    expect(house.ids()).toHaveLength(2)
    expect(results(house, id).map(({ isError }) => isError)).toEqual([false, false, false, false])
    expect(house.findings()).toEqual([])
  })

  test('a denied call does not run', async () => {
    const house = new House()
    const id = await agent(house, 'a', [call('spawn_agent', { name: 'kid' }), 'done'])
    await house.run(['send', 'a', 'go'])
    expect((await house.ok('deny', 'a')).stdout).toBe('done\n')
    expect(house.ids()).toEqual([id])
  })
})

describe.concurrent('spawn_agent', () => {
  test('creates a child with the settings of its parent, and returns its id', async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [call('spawn_agent', { name: 'kid', instructions: 'Be brief.' }), 'ok'],
      ...TREE,
    )
    const { text } = await calling(house, id)
    const kid = /^made kid \(([0-9a-f-]{36})\)$/.exec(text)?.[1] as string
    const [created] = of(house, kid, 'session.created')
    const [parent] = of(house, id, 'session.created')
    expect(created).toMatchObject({
      name: 'kid',
      parent: id,
      path: 'a/kid',
      instructions: 'Be brief.',
      provider: parent?.provider,
      options: parent?.options,
      workspace: parent?.workspace,
      allow: ['tree'],
    })
    expect(house.kinds(kid)).toEqual(['session.created'])
  })

  test('with a prompt, runs the child, whose reply starts a turn of the parent', async () => {
    const house = new House()
    const kid = { name: 'kid', prompt: 'look', provider: 'scripted', options: { scenario: 'kid.json' } }
    house.scenario('kid.json', { say: 'seen' })
    const id = await agent(house, 'a', [call('spawn_agent', kid), 'asked', 'thanks'], ...TREE)
    const { exit, stdout } = await house.run(['send', 'a', 'go'])
    expect([exit, stdout]).toEqual([0, 'asked\n'])
    expect(results(house, id)[0]?.text).toMatch(/^made kid \(\S+\); its first request is \S+$/)
    expect(mails(house, id)).toEqual(['response: seen'])
    expect((await house.ok('show', 'a', '--reply')).stdout).toBe('thanks\n')
    expect(house.findings()).toEqual([])
  })

  test('with wait, returns the reply as the result, without a message', async () => {
    const house = new House()
    house.scenario('kid.json', { say: 'seen' })
    const kid = { name: 'kid', prompt: 'look', wait: true, options: { scenario: 'kid.json' } }
    const id = await agent(house, 'a', [call('spawn_agent', kid), 'ok'], ...TREE)
    expect((await calling(house, id)).text).toBe('seen')
    expect(of(house, id, 'run.started')).toHaveLength(1)
    expect(of(house, id, 'mail.delivered')).toHaveLength(1)
    expect(house.inbox(id)).toEqual([])
  })

  test('gives the child no right that its parent lacks', async () => {
    const house = new House()
    // The child has its parent's scenario option, which names a file in its own workspace.
    mkdirSync(path.join(house.workspace, 'part'))
    house.scenario('part/a.json')
    const makes = (name: string, more: object): Response[] => [call('spawn_agent', { name, ...more }), 'ok']
    const id = await agent(
      house,
      'a',
      [
        ...makes('one', { allow: ['shell'] }),
        ...makes('two', { allow: ['all'] }),
        ...makes('three', { allow: ['send_message'] }),
        ...makes('four', { allow: [] }),
        ...makes('five', { provider: 'exec', options: { command: 'cat' } }),
        ...makes('six', { workspace: '..' }),
        ...makes('seven', { workspace: 'part' }),
        ...makes('eight', { provider: 'nonsense' }),
      ],
      ...TREE,
    )
    const said: string[] = []
    for (let turn = 0; turn < 8; turn++) said.push((await calling(house, id)).text)
    expect(said[0]).toBe('a child may not have more rights than you, and you are not allowed shell')
    expect(said[1]).toBe('a child may not have more rights than you, and you are not allowed all')
    expect(said[4]).toContain('provider exec could give the child more rights than its parent')
    expect(said[5]).toContain('is outside of yours')
    expect(said[7]).toContain('there is no provider "nonsense"')
    const kids = house.ids().filter((each) => each !== id)
    const made = kids.map((kid) => of(house, kid, 'session.created')[0])
    expect(Object.fromEntries(made.map((each) => [each?.name, each?.allow]))).toEqual({
      three: ['send_message'],
      four: undefined,
      seven: ['tree'],
    })
  })

  test('uses another provider or workspace if the agent may run any command, or the user approves the call', async () => {
    const house = new House()
    const kid = { name: 'kid', provider: 'exec', options: { command: 'printf ran' }, workspace: '..' }
    const make = [call('spawn_agent', { ...kid, prompt: 'go', wait: true }), 'ok']
    const free = await agent(house, 'free', make, '--allow', 'spawn_agent,shell')
    expect((await calling(house, free)).text).toBe('ran')
    const asks = await agent(house, 'asks', make)
    expect((await house.run(['send', 'asks', 'go'])).exit).toBe(5)
    await house.ok('approve', 'asks')
    expect(results(house, asks)[0]?.text).toBe('ran')
  })

  test('refuses a taken name, an invalid name and an invalid workspace, and stores nothing', async () => {
    const house = new House()
    const bad = [
      { name: 'kid' },
      { name: 'Kid' },
      { name: 'a/b' },
      { name: 'x', workspace: 'none' },
      { name: 7 },
    ]
    const id = await agent(
      house,
      'a',
      bad.flatMap((input) => [call('spawn_agent', input), 'ok']),
      ...TREE,
    )
    const said: [boolean, string][] = []
    for (const _ of bad) {
      const { isError, text } = await calling(house, id)
      said.push([isError, text])
    }
    expect(said.map(([isError]) => isError)).toEqual([false, true, true, true, true])
    expect(said[1]?.[1]).toContain('the name "Kid" is taken')
    expect(said[2]?.[1]).toContain('cannot be the name of an agent')
    expect(said[3]?.[1]).toContain('does not exist or is not a directory')
    expect(said[4]?.[1]).toBe('the input needs name, as text')
    expect(house.ids()).toHaveLength(2)
  })

  test('refuses a child beyond the depth or the number of children', async () => {
    const house = new House({ SUBSTRAT_DEPTH_MAX: '2', SUBSTRAT_CHILDREN_MAX: '1' })
    const id = await agent(
      house,
      'a',
      [call('spawn_agent', { name: 'one' }), 'ok', call('spawn_agent', { name: 'two' }), 'ok'],
      ...TREE,
    )
    expect((await calling(house, id)).isError).toBe(false)
    expect((await calling(house, id)).text).toContain('it already has 1 living children')
    const below = await house.run(['spawn', '--parent', 'a/one', '--name', 'deep'])
    expect([below.exit, below.stderr]).toEqual([13, expect.stringContaining('deeper than 2 levels')])
    expect(house.ids()).toHaveLength(2)
  })
})

describe.concurrent('an agent can inspect its children', () => {
  test('list_children shows the living ones; inspect_agent shows one, with its reply and metadata', async () => {
    const house = new House()
    const id = await agent(house, 'a', [
      call('list_children'),
      'ok',
      [call('list_children'), call('inspect_agent', { agent: 'kid' })],
      'ok',
    ])
    expect((await calling(house, id)).text).toBe('You have no living children.')
    const note = call('set_metadata', { metadata: { progress: 'half' } })
    const kid = await agent(house, 'a/kid', [note, 'my reply'], ...TREE)
    await agent(house, 'a/gone')
    await house.ok('terminate', 'a/gone')
    await house.ok('send', 'a/kid', 'go')
    await house.ok('send', 'a', 'go')
    const [listed, inspected] = results(house, id)
      .slice(1)
      .map(({ text }) => JSON.parse(text))
    const facts = {
      id: kid,
      name: 'kid',
      state: 'suspended',
      status: 'idle',
      inbox: 0,
      gated: false,
      metadata: { progress: 'half' },
    }
    expect(listed).toEqual(facts)
    expect(inspected).toMatchObject({ ...facts, provider: 'scripted', reply: 'my reply' })
    expect(inspected.turn).toMatchObject({ status: 'completed', trouble: null })
  })

  test('and no other agent: each tool is refused, and nothing is stored', async () => {
    const house = new House()
    const tools = ['inspect_agent', 'gate', 'ungate', 'permit_turn', 'poke', 'subscribe', 'unsubscribe']
    const whom = ['top/a', 'top', 'top/sibling', 'top/a/kid/deep', 'other', 'nobody']
    await agent(house, 'top')
    const id = await agent(
      house,
      'top/a',
      whom.flatMap((word) => [tools.map((tool) => call(tool, { agent: word })), 'ok']),
      ...TREE,
    )
    const others = [
      await agent(house, 'other'),
      await agent(house, 'top/sibling'),
      await agent(house, 'top/a/kid'),
      await agent(house, 'top/a/kid/deep'),
    ]
    for (const word of whom) {
      await house.ok('send', id, 'go')
      const refused = results(house, id).slice(-tools.length)
      expect(refused.map(({ tool, isError }) => [word, tool, isError])).toEqual(
        tools.map((tool) => [word, tool, true]),
      )
      for (const { text } of refused)
        expect(text).toMatch(word === 'nobody' ? /there is no agent/ : /which is not its child/)
    }
    for (const other of others) expect(house.inbox(other)).toEqual([])
  })
})

describe.concurrent('controls of a child', () => {
  test('gate leaves its mail pending, permit_turn allows one turn, ungate allows all', async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [
        call('gate', { agent: 'kid' }),
        'ok',
        call('permit_turn', { agent: 'kid' }),
        'ok',
        call('ungate', { agent: 'kid' }),
        'ok',
      ],
      ...TREE,
    )
    const kid = await agent(house, 'a/kid')
    const turns = (): number => of(house, kid, 'run.completed').length
    expect(await calling(house, id)).toMatchObject({ text: 'gate: a/kid', isError: false })
    for (const text of ['one', 'two', 'three']) await house.ok('send', 'a/kid', text, '--queue')
    expect([turns(), house.inbox(kid).length]).toEqual([0, 3])
    expect((await house.run(['send', 'a/kid', 'now'])).exit).toBe(13)
    await calling(house, id)
    expect([turns(), house.inbox(kid).length]).toEqual([1, 2])
    await calling(house, id)
    expect([turns(), house.inbox(kid).length]).toEqual([3, 0])
    expect(mails(house, kid)).toEqual(['request: one', 'request: two', 'request: three'])
  })

  test('poke retries a failed turn with the same prompt', async () => {
    const house = new House()
    const id = await agent(house, 'a', ['noted', call('poke', { agent: 'kid' }), 'ok'], ...TREE)
    const fails = { fail: { type: 'invalid', attempts: 1 }, say: 'this time' }
    const kid = await agent(house, 'a/kid', [fails])
    expect((await house.run(['send', 'a/kid', 'try'])).exit).toBe(9)
    await calling(house, id)
    expect(of(house, kid, 'run.failed')).toHaveLength(1)
    expect((await house.ok('show', 'a/kid', '--reply')).stdout).toBe('this time\n')
    expect(of(house, kid, 'message.user')).toHaveLength(1)
  })

  test('poke retries nothing if the turn completed or is running', async () => {
    const house = new House()
    const poke = call('poke', { agent: 'kid' })
    const id = await agent(house, 'a', [poke, 'ok', poke, 'ok'], ...TREE)
    const kid = await agent(house, 'a/kid', [{ after_file: 'go', say: 'slow' }])
    const slow = house.start(['send', 'a/kid', 'work'])
    await house.waitForRecord(kid, 'model.requested')
    await calling(house, id)
    house.write('go', '')
    expect((await slow.result).stdout).toBe('slow\n')
    await calling(house, id)
    expect(of(house, kid, 'run.started')).toHaveLength(1)
    expect(house.inbox(kid)).toEqual([])
  })

  test("a parent gets the reply of a killed child's turn, not an error", async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [call('send_message', { to: 'kid', content: 'work' }), 'asked', 'thanks'],
      ...TREE,
    )
    const kid = await agent(house, 'a/kid', [{ after_file: 'go', say: 'worked' }])
    const killed = house.start(['send', 'a', 'go'])
    await house.waitForRecord(kid, 'model.requested')
    await killed.kill()
    house.write('go', '')
    await house.run(['recover', '--all'])
    await house.run(['deliver', '--all'])
    expect(of(house, kid, 'run.completed')).toHaveLength(1)
    expect(mails(house, id)).toEqual(['response: worked'])
    expect(house.findings(true)).toEqual([])
  })

  test.each([
    ['once', true, 1],
    ['always', false, 2],
  ])(
    'subscribe tells %s when a child is idle, in later commands too; unsubscribe ends it',
    async (_, once, told) => {
      const house = new House()
      const id = await agent(
        house,
        'a',
        [
          call('subscribe', { agent: 'kid', on: ['idle'], once }),
          'ok',
          ...Array.from({ length: told }, () => 'noted'),
          call('unsubscribe', { agent: 'kid' }),
          'ok',
        ],
        ...TREE,
      )
      await agent(house, 'a/kid')
      await calling(house, id)
      for (const text of ['one', 'two']) await house.ok('send', 'a/kid', text)
      expect(mails(house, id)).toEqual(Array(told).fill('notification: a/kid is idle now.'))
      await calling(house, id)
      await house.ok('send', 'a/kid', 'three')
      expect(mails(house, id)).toHaveLength(told)
    },
  )

  test('subscribe sends a notification for a waiting child and for an interrupted child', async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [call('subscribe', { agent: 'kid', on: ['waiting', 'interrupted'] }), 'ok'],
      ...TREE,
    )
    const kid = await agent(house, 'a/kid', [
      call('write_file', { path: 'x', content: '' }),
      'written',
      { delay_ms: 3_600_000 },
    ])
    await calling(house, id)
    expect((await house.run(['send', 'a/kid', 'write'])).exit).toBe(5)
    await house.ok('approve', 'a/kid')
    const killed = house.start(['send', 'a/kid', 'work'])
    await house.waitForRecord(kid, 'model.requested', 3)
    await killed.kill()
    const turns = house.count(id, 'run.started')
    await house.run(['recover', '--all', '--continue', 'none'])
    // Marked, and the notification is sent; no turn starts.
    expect(house.count(id, 'run.started')).toBe(turns)
    await house.ok('deliver', 'a')
    const [waits, interrupted] = mails(house, id).filter((mail) => mail.startsWith('notification'))
    expect([waits, interrupted]).toEqual([
      'notification: a/kid is waiting now: it asks to run write_file.',
      'notification: a/kid is interrupted now.',
    ])
  })
})

test('subscribe quotes the question of a waiting child', async () => {
  const house = new House()
  const id = await agent(house, 'a', [call('subscribe', { agent: 'kid', on: ['waiting'] }), 'ok'], ...TREE)
  await agent(house, 'a/kid', [call('ask_operator', { question: 'Which "branch"?' })])
  await calling(house, id)
  expect((await house.run(['send', 'a/kid', 'go'])).exit).toBe(5)
  await house.ok('deliver', 'a')
  const notices = mails(house, id).filter((mail) => mail.startsWith('notification'))
  expect(notices).toEqual(['notification: a/kid is waiting now: it asks "Which "branch"?"'])
})

describe.concurrent('complete', () => {
  test('answers the parent and terminates the agent', async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [call('send_message', { to: 'kid', content: 'go', wait: true }), 'ok'],
      ...TREE,
    )
    const kid = await agent(
      house,
      'a/kid',
      [[call('complete', { result: 'the result' }), call('set_metadata', { metadata: { late: 'x' } })]],
      ...TREE,
    )
    expect((await calling(house, id)).text).toBe('the result')
    expect((await house.ok('show', kid, '--json')).json).toMatchObject({
      agent: { state: 'terminated' },
      metadata: {},
      reply: 'the result',
    })
    expect(of(house, id, 'mail.delivered')).toHaveLength(1)
    expect((await house.run(['send', kid, 'more'])).exit).toBe(13)
    expect(house.findings()).toEqual([])
  })

  test('is refused for a root, and for a parent with living children', async () => {
    const house = new House()
    const done = [call('complete', { result: 'x' }), 'ok']
    const root = await agent(house, 'a', done, ...TREE)
    expect((await calling(house, root)).text).toBe(
      'you have no parent to complete for: reply with text instead',
    )
    const parent = await agent(house, 'a/b', [...done, ...done], ...TREE)
    await agent(house, 'a/b/c')
    expect((await calling(house, parent)).text).toMatch(/^a\/b has 1 living child: a\/b\/c/)
    await house.ok('terminate', 'a/b/c')
    await house.ok('send', parent, 'go')
    expect((await house.ok('show', parent, '--json')).json.agent.state).toBe('terminated')
  })
})

describe.concurrent('reminders and metadata of an agent', () => {
  test('a reminder is delivered once, when it is due, in its own turn', async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [call('remind_me', { content: 'look again', delay_seconds: 1 }), 'ok', 'looked'],
      ...TREE,
    )
    const { text } = await calling(house, id)
    const due = /^reminder \S+, due (2\S+Z)$/.exec(text)?.[1] as string
    await waitFor(async () => {
      await house.ok('deliver', '--all')
      return mails(house, id).length > 0
    }, 'the reminder')
    await house.ok('deliver', '--all')
    expect(mails(house, id)).toEqual(['notification: look again'])
    const delivery = house.records(id).find(({ kind }) => kind === 'mail.delivered')
    expect(delivery && delivery.ts >= due).toBe(true)
    expect((await house.ok('show', 'a', '--reply')).stdout).toBe('looked\n')
    expect((await house.ok('show', 'a', '--json')).json.reminders).toEqual([])
  })

  test('a repeating reminder comes again; missed ones come once; cancel_reminder ends it', async () => {
    const house = new House()
    const id = await agent(
      house,
      'a',
      [call('remind_me', { content: 'tick', not_before: '2020-01-01T00:00:00Z', every_seconds: 3600 }), 'ok'],
      ...TREE,
    )
    const { text } = await calling(house, id)
    await house.ok('deliver', '--all')
    // Years of hourly reminders were missed; the next is due within the hour.
    expect(mails(house, id)).toEqual(['notification: tick'])
    const [reminder] = (await house.ok('show', 'a', '--json')).json.reminders
    expect(Date.parse(reminder.due_at) - Date.now()).toBeLessThanOrEqual(3_600_000)
    expect(Date.parse(reminder.due_at)).toBeGreaterThan(Date.now())
    const reminder_id = /^reminder (\S+),/.exec(text)?.[1]
    house.scenario(
      'cancel.json',
      {},
      {},
      {},
      { tools: [call('cancel_reminder', { reminder_id })] },
      { say: 'ok' },
    )
    await house.ok('set', 'a', '--option', 'scenario=cancel.json')
    expect((await calling(house, id)).text).toBe('cancelled')
    expect((await house.ok('show', 'a', '--json')).json.reminders).toEqual([])
  })

  test('remind_me and cancel_reminder refuse invalid arguments', async () => {
    const house = new House()
    const bad = [
      call('remind_me', { content: 'x' }),
      call('remind_me', { content: 'x', every_seconds: 0.1 }),
      call('remind_me', { content: 'x', not_before: 'tomorrow' }),
      call('remind_me', { delay_seconds: 5 }),
      call('cancel_reminder', { reminder_id: 'none' }),
    ]
    const id = await agent(house, 'a', [bad, 'ok'], ...TREE)
    await calling(house, id)
    expect(results(house, id).map(({ text }) => text)).toEqual([
      'a reminder needs a time: not_before, delay_seconds or every_seconds',
      'every_seconds must be at least 1',
      'not_before must be a time in ISO 8601, such as 2026-11-20T10:00:00Z',
      'the input needs content, as text',
      'you have no reminder none',
    ])
    expect(of(house, id, 'reminder.set')).toEqual([])
  })

  test('metadata is merged, null removes a name, and its size is limited', async () => {
    const house = new House()
    const many = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`k${at}`, 'v']))
    const sets = [
      { metadata: { a: 'x', b: 'y', n: 7 } },
      { metadata: { a: null, c: 'z' } },
      { metadata: many },
      { metadata: { long: 'x'.repeat(20_000) } },
      { metadata: 'text' },
      { metadata: { b: null, n: null, c: null } },
      { metadata: many },
      { metadata: { k0: null, more: 'v' } },
    ]
    const id = await agent(house, 'a', [sets.map((input) => call('set_metadata', input)), 'ok'], ...TREE)
    await calling(house, id)
    const bounded = 'metadata is at most 64 names and 16384 bytes in all'
    expect(results(house, id).map(({ text }) => text)).toEqual([
      'noted',
      'noted',
      bounded,
      bounded,
      'metadata must be an object with text values',
      'noted',
      'noted',
      'noted',
    ])
    const { metadata } = (await house.ok('show', 'a', '--json')).json
    expect([Object.keys(metadata).length, metadata.k0, metadata.more]).toEqual([64, undefined, 'v'])
  })
})
