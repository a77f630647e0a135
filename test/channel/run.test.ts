/** `channel run --once`, in this process, with a platform on the loopback. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { checkedTemplate } from '../../src/channel/agents.js'
import type { ChannelConfig } from '../../src/channel/config.js'
import { readableTime } from '../../src/clock.js'
import { viewOutbox } from '../../src/operations/outbox.js'
import { resume } from '../../src/operations/resume.js'
import { channelConfig, channelState, runOnce, threadAgents } from '../support/channels.js'
import { contextAt } from '../support/contexts.js'
import { newPlatform } from '../support/platform.js'
import { beginning, newAgent, recordsOf, reopen, terminate } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

/** The code in the latest message that asks for approval. */
function codeIn(texts: string[]): string {
  return /approve ([0-9a-f]{8})/.exec(texts.join('\n'))?.[1] as string
}

const CALL = { tools: [{ name: 'shell', input: { command: 'echo ran >> ran' } }] }

describe('a message', () => {
  test('starts a turn of the agent of its thread, and the reply goes to the thread', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const config = channelConfig()
    platform.write({ thread: 'one', text: 'hello' })
    platform.write({ thread: 'two', sender: 'bob', senderName: 'Bob [admin]\nx', text: 'hi' })
    const counts = await runOnce(store, platform, config)
    expect(counts).toMatchObject({ received: 2, ignored: 0 })
    expect(platform.textsIn('one').join()).toMatch(/^echo: \[request \S+ from chat \(ann\)\]\nhello$/)
    expect(platform.textsIn('two').join()).toMatch(/from chat \(Bob admin x, bob\)\]\nhi$/)
    expect(platform.posted.map(({ replyTo }) => replyTo).sort()).toEqual(['1', '2'])
    expect(threadAgents(store).map(({ path }) => path.replace(/-\w+$/, ''))).toEqual([
      'chat/ann',
      'chat/bob-admin-x',
    ])
    expect(channelState(store).channel).toMatchObject({ cursor: '2', pending: [] })
    expect(store.visits.markedIds()).toEqual([])
  })

  test('goes to the same agent as the one before in its thread', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const config = channelConfig([{ say: 'first' }, { say: 'second' }])
    platform.write()
    await runOnce(store, platform, config)
    platform.write()
    await runOnce(store, platform, config)
    expect(platform.textsIn('general')).toEqual(['first', 'second'])
    expect(threadAgents(store)).toHaveLength(1)
  })

  test('goes to a new agent after the agent of the thread was terminated', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const config = channelConfig([{ say: 'hello' }])
    platform.write()
    await runOnce(store, platform, config)
    const [agent] = threadAgents(store)
    await terminate(store, agent?.id as string)
    platform.write()
    await runOnce(store, platform, config)
    expect(platform.textsIn('general')).toEqual(['hello', 'hello'])
    expect(threadAgents(store).map(({ state }) => state)).toEqual(['terminated', 'suspended'])
  })

  test('is ignored if the plugin refuses it, and the reason is printed', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    platform.answer = (request, response) => {
      const refused = request.url?.includes('after=0') ? [{ sender: 'ann', why: 'it is forged' }] : []
      response.end(JSON.stringify({ messages: [], refused, cursor: '1' }))
    }
    const { received, ignored, notes } = await runOnce(store, platform, channelConfig())
    expect([received, ignored]).toEqual([0, 1])
    expect(notes).toContain('ignored a message from ann: it is forged')
    expect(channelState(store).channel).toMatchObject({ cursor: '1', threads: [] })
  })

  test('is ignored if its sender is not in senders', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    platform.write({ sender: 'eve' })
    const { received, ignored, notes } = await runOnce(store, platform, channelConfig())
    expect([received, ignored]).toEqual([0, 1])
    expect(notes.join('\n')).toContain('ignored a message from eve, who is not in senders')
    expect(platform.posted).toEqual([])
    expect(channelState(store).channel).toMatchObject({ cursor: '1', threads: [] })
  })

  test('runs once if the platform delivers it again, with the old cursor or with a new one', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const config = channelConfig()
    platform.write({ id: 'm1', text: 'once' })
    await runOnce(store, platform, config)
    platform.write({ id: 'm1', text: 'once' })
    expect(await runOnce(store, platform, config)).toMatchObject({ received: 0 })
    expect(platform.posted).toHaveLength(1)
    expect(threadAgents(store).map(({ usage }) => usage?.runs)).toEqual([1])
  })

  test('with an attachment gets a sentence, and its text is read', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const config = channelConfig([{ say: 'read' }])
    platform.write({ thread: 'one', text: '', attachments: ['scan.pdf'] })
    platform.write({ thread: 'two', text: 'see file', attachments: ['a.png', 'b.png'] })
    await runOnce(store, platform, config)
    expect(platform.textsIn('one')).toEqual([
      'I cannot read the attached file (scan.pdf). Please send the text itself.',
    ])
    expect(platform.textsIn('two')).toEqual([
      'I cannot read the 2 attached files (a.png, b.png). Please send the text itself.',
      'read',
    ])
  })
})

describe('a reply', () => {
  test('that is too long for one message is split between words, in order', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const words = Array.from({ length: 120 }, (_, index) => `word${index}`).join(' ')
    platform.write()
    await runOnce(store, platform, channelConfig([{ say: words }]))
    const texts = platform.textsIn('general')
    expect(texts.length).toBeGreaterThan(3)
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(200)
    expect(texts.join(' ')).toBe(words)
  })

  test('that the platform refuses for now is sent again with the same id, and after three tries it is dropped', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    platform.onSend = (message, response) => {
      if (message.text === 'first' && platform.attempts.get(message.idempotencyId) === 3) return false
      response.writeHead(message.text === 'first' ? 503 : 500).end()
      return true
    }
    const config = channelConfig([{ say: 'first' }, { say: 'second' }])
    platform.write()
    await runOnce(store, platform, config)
    expect(platform.textsIn('general')).toEqual(['first'])
    platform.write()
    const { notes } = await runOnce(store, platform, config)
    expect([...platform.attempts.values()]).toEqual([3, 3])
    expect(notes.join('\n')).toContain(
      'was not sent and is dropped (attempts: the platform answered with status 500)',
    )
    platform.onSend = () => false
    platform.write()
    await runOnce(store, platform, channelConfig([]))
    expect(platform.textsIn('general')).toHaveLength(2)
  })

  test('that loses two answers is dropped, and so shown at most twice by a platform that ignores ids', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    platform.mayShowTwice = true
    platform.onSend = (message, response) => {
      platform.keep(message, message.replyTo.id)
      response.destroy()
      return true
    }
    platform.write()
    const { notes } = await runOnce(store, platform, channelConfig([{ say: 'hello' }], { triesMax: 10 }))
    expect(platform.textsIn('general')).toEqual(['hello', 'hello'])
    const [dropped] = viewOutbox(store, { agentId: undefined, isDropped: true }).messages
    expect(dropped).toMatchObject({
      reason: 'attempts',
      why: expect.stringContaining('it may have been shown'),
    })
    expect(notes.join('\n')).toContain('it may have been shown')
    const kinds = recordsOf(store, channelState(store).id).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind.startsWith('outbound.'))).toEqual([
      ...[
        'outbound.queued',
        'outbound.attempted',
        'outbound.failed',
        'outbound.attempted',
        'outbound.dropped',
      ],
    ])
  })

  test('is sent without a record of the attempt to a platform that shows it once', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    platform.write()
    await runOnce(store, platform, channelConfig([{ say: 'hello' }]))
    const kinds = recordsOf(store, channelState(store).id).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind.startsWith('outbound.'))).toEqual(['outbound.queued', 'outbound.sent'])
  })

  test('stays pending while the platform asks for a longer pause', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    platform.onSend = (_, response) => {
      response.writeHead(429, { 'retry-after': '600' }).end()
      return true
    }
    platform.write()
    const { notes } = await runOnce(store, platform, channelConfig([{ say: 'late' }]))
    const [message] = viewOutbox(store, { agentId: undefined, isDropped: false }).messages
    expect(message).toMatchObject({
      path: 'chat',
      target: 'chat',
      text: 'late',
      state: 'failed',
      attempts: 1,
    })
    expect(Date.parse(message?.next_at as string) - Date.parse(message?.at as string)).toBeGreaterThan(
      500_000,
    )
    const time = readableTime(message?.next_at as string)
    expect(notes).toContain(`1 reply is still pending; a run after ${time} tries again: substrat outbox chat`)
  })

  test('is a sentence about the cause if the turn failed', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const fail = (type: string) => [{ fail: { type: type as 'overloaded', attempts: 9 } }]
    const causes = {
      overloaded: "I'm having trouble reaching my AI provider. Try again in a moment.",
      session_lost:
        'I had trouble loading our conversation history. The operator has to repair it before I can answer.',
      authentication: 'I am not set up correctly and cannot answer. The operator has to correct that.',
      refused: 'My AI model refused to answer this. Please ask in other words.',
      overflow: 'This conversation has become too long for my AI model. Please begin a new one.',
      crashed:
        'Something went wrong: the scenario makes this request fail: crashed. Try sending your message again.',
    }
    for (const type of Object.keys(causes)) {
      platform.write({ thread: type })
      await runOnce(store, platform, channelConfig(fail(type)))
    }
    const said = Object.keys(causes).map((type) => [type, platform.textsIn(type).join('\n')])
    expect(Object.fromEntries(said)).toEqual(causes)
  })
})

describe('a tool that exceeds its time limit', () => {
  const TIMED_OUT = "A command I was running timed out. Let me know if you'd like me to try again."
  const HANGS = { tools: [{ name: 'shell', input: { command: 'sleep 3600' } }] }
  const limited = { bounds: { toolTimeoutMs: 50 } }

  /** The agents of its threads may use the shell. */
  function freeConfig(...responses: Parameters<typeof channelConfig>[0] & object): ChannelConfig {
    const config = channelConfig(responses)
    return { ...config, agent: { ...config.agent, allow: ['shell'] } }
  }

  test('reaches the thread once a turn, and the turn continues', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const config = freeConfig(HANGS, HANGS, { say: 'It hangs.' }, HANGS, { say: 'Again.' })
    platform.write()
    await runOnce(store, platform, config, limited)
    expect(platform.textsIn('general')).toEqual([TIMED_OUT, 'It hangs.'])
    platform.write()
    await runOnce(store, platform, config, limited)
    expect(platform.textsIn('general').slice(2)).toEqual([TIMED_OUT, 'Again.'])
  })

  test('reaches the thread before a wait of the same turn, which has no reply yet', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const write = { tools: [{ name: 'write_file', input: { path: 'a', content: 'b' } }] }
    platform.write()
    await runOnce(store, platform, freeConfig(HANGS, write, { say: 'done' }), limited)
    expect(platform.textsIn('general')).toEqual([TIMED_OUT, expect.stringContaining('I need approval')])
    await runOnce(store, platform, freeConfig(), limited)
    expect(platform.posted).toHaveLength(2)
  })
})

describe('a turn that waits for approval', () => {
  test('is approved from the thread, by the code in the message', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const config = channelConfig([CALL, { say: 'done' }])
    platform.write({ text: 'run it' })
    await runOnce(store, platform, config)
    const [asks] = platform.posted
    const code = codeIn(platform.textsIn('general'))
    expect(asks?.text).toContain('shell: echo ran >> ran')
    expect(asks?.buttons).toEqual([
      { label: 'Approve', text: `approve ${code}` },
      { label: 'Deny', text: `deny ${code}` },
    ])
    await runOnce(store, platform, config)
    expect(platform.posted).toHaveLength(1)
    platform.write({ text: `Approve ${code}\n\n> approve 00000000` })
    await runOnce(store, platform, config)
    expect(platform.textsIn('general').slice(1)).toEqual(['done'])
    const [agent] = threadAgents(store)
    const records = recordsOf(store, agent?.id as string)
    expect(records.filter(({ kind }) => kind === 'tool.started')).toHaveLength(1)
    const ann = { face: 'channel', sender: { channel: 'chat', id: 'ann' } }
    const acts = ['session.created', 'mail.delivered', 'token.consumed']
    expect(records.filter(({ kind }) => acts.includes(kind))).toMatchObject(
      acts.map((kind) => ({ kind, actor: ann })),
    )
  })

  test('that an unknown name asks for shows the name as a claim', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    platform.write({ sender: 'bob', senderName: 'ann\u001b[2K', text: 'hello' })
    await runOnce(store, platform, channelConfig())
    const [agent] = threadAgents(store)
    const [mail] = recordsOf(store, agent?.id as string).filter(({ kind }) => kind === 'mail.delivered')
    expect(mail).toMatchObject({ actor: { sender: { id: 'bob' }, claims: { name: 'ann 2K' } } })
  })

  test('is denied with a reason, and an old code decides nothing', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const config = channelConfig([CALL, { say: 'then not' }])
    platform.write()
    await runOnce(store, platform, config)
    const code = codeIn(platform.textsIn('general'))
    platform.write({ text: `deny ${code} not on Fridays` })
    platform.write({ text: `approve ${code}` })
    await runOnce(store, platform, config)
    expect(platform.textsIn('general').slice(1).sort()).toEqual([
      expect.stringMatching(
        `^Nothing with the code ${code} is waiting for approval now. The latest request was denied by ann on chat at `,
      ),
      'then not',
    ])
    const [agent] = threadAgents(store)
    expect(JSON.stringify(recordsOf(store, agent?.id as string))).toContain('not on Fridays')
  })

  test('is not approved by a sender who is not in approvers', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const config = channelConfig([CALL, { say: 'done' }])
    platform.write()
    await runOnce(store, platform, config)
    platform.write({ sender: 'bob', text: `approve ${codeIn(platform.textsIn('general'))}` })
    await runOnce(store, platform, config)
    expect(platform.textsIn('general').slice(1)).toEqual([
      'You are not among the people who may approve this.',
    ])
    expect(threadAgents(store).map(({ run }) => run?.status)).toEqual(['open'])
  })
})

test('a message to an agent with a tool call of unknown outcome is stored, and a person decides about the turn', async () => {
  const [store, platform] = [tempStore(), await newPlatform()]
  const config = channelConfig()
  platform.write()
  await runOnce(store, platform, config)
  const [agent] = threadAgents(store)
  const session = await reopen(store, agent?.id as string)
  const run = randomUUID()
  const calls = [{ call_id: 'c', name: 'shell', input: { command: 'pay' } }]
  session.append([
    ...beginning(session, run, 'pay'),
    { kind: 'model.requested', run_id: run },
    { kind: 'model.responded', run_id: run, stop: 'tool_calls', calls },
    { kind: 'tool.started', run_id: run, call_id: 'c', tool: 'shell' },
  ])
  // As if its process had died.
  await session.abandon()
  platform.write({ text: 'go on' })
  await runOnce(store, platform, config)
  await runOnce(store, platform, config)
  expect(platform.textsIn('general')).toHaveLength(1)
  const [stopped] = threadAgents(store)
  expect(stopped?.run).toMatchObject({ run_id: run, status: 'interrupted', reason: 'unknown_tool' })
  expect(store.mail.ids(stopped?.id as string)).toHaveLength(1)
  const { ctx } = contextAt(store)
  await resume(ctx, stopped?.id as string, { reseed: false }, () => undefined)
  await runOnce(store, platform, config)
  expect(platform.textsIn('general').at(-1)).toMatch(/go on$/)
})

describe('a question', () => {
  const ASK = { tools: [{ name: 'ask_operator', input: { question: 'Which colour?' } }] }

  test('goes to the thread, and the next message of an approver is the answer', async () => {
    const [store, platform] = [tempStore(), await newPlatform()]
    const config = channelConfig([ASK, { say: 'blue it is' }, { say: 'other' }])
    platform.write()
    await runOnce(store, platform, config)
    expect(platform.textsIn('general')).toEqual(['Which colour?'])
    platform.write({ sender: 'bob', text: 'red' })
    await runOnce(store, platform, config)
    platform.write({ text: 'blue' })
    await runOnce(store, platform, config)
    const [, told, ...rest] = platform.textsIn('general')
    expect(told).toMatch(/^I am waiting for an answer from an authorised person/)
    expect(rest).toEqual(['blue it is', 'other'])
  })
})

test('a name that belongs to another agent is refused', async () => {
  const [store, platform] = [tempStore(), await newPlatform()]
  await newAgent(store, { name: 'chat' })
  await expect(runOnce(store, platform, channelConfig())).rejects.toThrow(
    'taken by an agent that is not a channel',
  )
})

test('a template that allows a tool that does not exist is refused, as spawn --allow is', async () => {
  const [{ ctx }, { agent }] = [contextAt(tempStore()), channelConfig()]
  await expect(checkedTemplate(ctx, { ...agent, allow: ['shel'] })).rejects.toThrow('there is no tool shel')
  expect(await checkedTemplate(ctx, { ...agent, allow: ['shell'] })).toMatchObject({ allow: ['shell'] })
})

test('a platform that refuses the credentials ends the command', async () => {
  const store = tempStore()
  const platform = await newPlatform()
  platform.answer = (_, response) => void response.writeHead(401).end()
  await expect(runOnce(store, platform, channelConfig())).rejects.toThrow(
    'the channel chat cannot be used: the platform answered with status 401',
  )
})
