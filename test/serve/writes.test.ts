/** The requests that change something: each is an ordinary command, which needs the server only to begin. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { waitFor } from '../support/wait.js'
import { atWork } from '../support/waiting.js'
import { linked, Served } from './support.js'

const HELD_RENAMES = pathToFileURL(join(import.meta.dirname, '../support/held-renames.mjs')).href
const WAIT = { prefer: 'wait' }

describe.concurrent('a message', () => {
  test('is on disk with its run when the request is answered', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const served = await Served.start(house)
    const { status, data } = await served.call('sendMessage', {
      path: { agent: 'a' },
      body: { content: 'hi' },
    })
    expect(status).toBe(202)
    expect(house.records(id)).toContainEqual(
      expect.objectContaining({ kind: 'run.started', run_id: (data as { run_id: string }).run_id }),
    )
    gate.open()
    await house.waitForRecord(id, 'run.completed')
    await served.stop()
  })

  test('with Prefer: wait is answered with the outcome of its turn', async () => {
    const house = new House()
    await house.spawn('a')
    const served = await Served.start(house)
    const content = `--help\n${'x'.repeat(300_000)} "\u2028" \u{1f600}\n`
    const sent = await served.call('sendMessage', { path: { agent: 'a' }, body: { content }, headers: WAIT })
    expect(sent).toMatchObject({ status: 200, data: { reply: `echo: ${content}`, wait: null } })
    await served.stop()
  })

  test('with a wait that is too short is answered as without it', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const served = await Served.start(house)
    const headers = { prefer: 'wait=1' }
    expect(
      (await served.call('sendMessage', { path: { agent: 'a' }, body: { content: 'hi' }, headers })).status,
    ).toBe(202)
    gate.open()
    await house.waitForRecord(id, 'run.completed')
    await served.stop()
  })

  test('that is refused is explained with the fields of the request, and with commands for a terminal', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('busy', ...gate.flags)
    await house.spawn('gated')
    await house.ok('gate', 'gated')
    const served = await Served.start(house)
    const send = (agent: string, more: object = {}) =>
      served.call('sendMessage', { path: { agent }, body: { content: 'hi', ...more } })
    expect((await send('gated', { if_busy: 'fail' })).problem).toMatchObject({
      code: 'GATED',
      next: 'ungate it: substrat ungate gated; or queue the message: "queue": true',
    })
    expect((await send('gated', { queue: true })).status).toBe(202)
    await send('busy')
    const { problem } = await send('busy', { if_busy: 'fail' })
    expect(problem.code).toBe('LOCKED')
    expect(problem.next).toContain(
      'to wait longer, add "timeout": "1h"; to queue a message, add "if_busy": "queue"',
    )
    expect(problem.next).not.toMatch(/--(?!if-busy wait)/)
    gate.open()
    await house.waitForRecord(id, 'run.completed')
    await served.stop()
  })

  test('takes fields that begin like flags of the command as they are', async () => {
    const house = new House()
    const served = await Served.start(house)
    const made = await served.call('spawnAgent', {
      body: { name: 'a', instructions: '--help', model: '-kq0x' },
    })
    expect([made.status, made.data?.agent]).toEqual([201, expect.objectContaining({ model: '-kq0x' })])
    const sent = await served.call('sendMessage', {
      path: { agent: 'a' },
      body: { content: '--json' },
      headers: { ...WAIT, 'idempotency-key': '-kq0x' },
    })
    expect([sent.status, sent.data]).toEqual([200, expect.objectContaining({ reply: 'echo: --json' })])
    const refused = await served.call('spawnAgent', { body: { name: 'b', options: { 'a=b': 'c' } } })
    expect(refused.problem).toMatchObject({ code: 'USAGE', title: expect.anything() })
    expect((await house.ok('list', '--json')).json.agents).toHaveLength(1)
    await served.stop()
  })

  test('refuses an entry of allow that would become another one', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const served = await Served.start(house)
    // Joined with commas, the first two would be one pattern, and the next one two tools.
    for (const allow of [['shell(touch a', 'b)'], ['write_file,shell'], ['shell', ''], [' shell']]) {
      const spawned = await served.call('spawnAgent', { body: { name: 'b', allow } })
      expect(spawned.problem).toMatchObject({ code: 'USAGE', title: expect.anything() })
      const sent = await served.call('sendMessage', { path: { agent: 'a' }, body: { content: 'x', allow } })
      expect(sent.problem).toMatchObject({ code: 'USAGE' })
    }
    expect((await house.ok('list', '--json')).json.agents).toHaveLength(1)
    const allow = ['shell(git log --format=a,b)', 'write_file']
    const body = { content: 'x', allow }
    expect((await served.call('sendMessage', { path: { agent: 'a' }, body, headers: WAIT })).status).toBe(200)
    expect(house.records(id)).toContainEqual(expect.objectContaining({ kind: 'run.started', allow }))
    await served.stop()
  })

  test('with a repeated Idempotency-Key has one turn, and the same answer', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const served = await Served.start(house)
    const send = (content: string, headers = {}) =>
      served.call('sendMessage', {
        path: { agent: 'a' },
        body: { content },
        headers: { 'idempotency-key': 'k1', ...headers },
      })
    const first = await send('hello', WAIT)
    expect(first).toMatchObject({ status: 200, data: { reply: 'echo: hello' } })
    expect((await send('hello', WAIT)).data).toMatchObject({ run: (first.data as { run: object }).run })
    expect(await send('hello')).toMatchObject({
      status: 202,
      data: { run_id: (first.data as { run: { id: string } }).run.id },
    })
    expect(await send('other')).toMatchObject({ status: 422, problem: { code: 'KEY_CONFLICT' } })
    expect(house.count(id, 'run.started')).toBe(1)
    await served.stop()
  })

  test('to an agent that works is stored in its inbox', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const served = await Served.start(house)
    const send = () => served.call('sendMessage', { path: { agent: 'a' }, body: { content: 'hi' } })
    expect((await send()).data).toMatchObject({ run_id: expect.any(String) })
    expect(await send()).toMatchObject({ status: 202, data: { agent: id, run_id: null } })
    expect(house.inbox(id)).toHaveLength(1)
    gate.open()
    gate.open()
    await house.waitForRecord(id, 'run.completed', 2)
    await served.stop()
  })

  test('that fails is a problem with the status of its error', async () => {
    const house = new House()
    await house.spawn('a', '-o', house.scenario('s.json', { fail: { type: 'invalid' } }))
    const served = await Served.start(house)
    const sent = await served.call('sendMessage', {
      path: { agent: 'a' },
      body: { content: 'hi' },
      headers: WAIT,
    })
    expect(sent).toMatchObject({ status: 502, problem: { code: 'PROVIDER_FAILED', who: 'operator' } })
    await house.ok('suspend', 'a', '--hold')
    const held = await served.call('sendMessage', {
      path: { agent: 'a' },
      body: { content: 'hi', if_busy: 'fail' },
    })
    expect(held).toMatchObject({ status: 409, problem: { code: 'ON_HOLD' } })
    await served.stop()
  })
})

describe.concurrent('a turn', () => {
  test('that a client started goes on when the server is killed, and when Ctrl-C ends it', async () => {
    const house = new House()
    const gates = [new Gate(house, 'one'), new Gate(house, 'two')]
    const ids = await Promise.all(gates.map((gate, index) => house.spawn(`a${index}`, ...gate.flags)))
    for (const [index, signal] of (['SIGKILL', 'SIGINT'] as const).entries()) {
      const agent = ids[index] as string
      // A process group of its own, as a shell gives it.
      const running = house.launch(['setsid', ...house.command('serve', '--listen', '127.0.0.1:0')], {
        env: linked(house),
      })
      const served = await Served.of(house, running)
      expect((await served.call('sendMessage', { path: { agent }, body: { content: 'hi' } })).status).toBe(
        202,
      )
      process.kill(-running.pid, signal)
      expect((await running.result).exit).toBe(signal === 'SIGINT' ? 0 : 137)
      expect(house.count(agent, 'run.completed')).toBe(0)
      gates[index]?.open()
      await house.waitForRecord(agent, 'run.completed')
      expect(house.count(agent, 'run.interrupted')).toBe(0)
    }
  })

  test('is created with its agent, and an agent without a prompt has none', async () => {
    const house = new House()
    const served = await Served.start(house)
    const workspace = house.workspace
    const made = await served.call('spawnAgent', { body: { name: 'a', workspace, context: 'last:2' } })
    expect(made).toMatchObject({ status: 201, data: { agent: { name: 'a' }, run: null } })
    const shown = await served.call('showAgent', { path: { agent: 'a' } })
    expect(shown.data).toMatchObject({ context: 'last:2' })
    const wrong = await served.call('spawnAgent', { body: { name: 'z', workspace, context: 'last:0' } })
    expect(wrong).toMatchObject({ status: 400, problem: { code: 'USAGE' } })
    const started = await served.call('spawnAgent', {
      body: { name: 'b', workspace, prompt: 'hi' },
      headers: WAIT,
    })
    expect(started).toMatchObject({ status: 200, data: { agent: { name: 'b' }, reply: 'echo: hi' } })
    const child = await served.call('spawnAgent', {
      body: { name: 'c', parent: 'b', workspace, prompt: 'hi' },
    })
    expect(child.status).toBe(202)
    const again = await served.call('spawnAgent', { body: { name: 'a', workspace } })
    expect(again).toMatchObject({ status: 409, problem: { code: 'NAME_TAKEN' } })
    const used = await served.call('spawnAgent', { body: { name: 'a', workspace, if_exists: 'use' } })
    expect(used.data).toMatchObject({ agent: { id: (made.data as { agent: { id: string } }).agent.id } })
    await served.stop()
  })

  test('that failed is repeated; without one to continue, resume changes nothing', async () => {
    const house = new House()
    const id = await house.spawn(
      'a',
      '-o',
      house.scenario('s.json', { fail: { type: 'invalid', attempts: 1 } }),
    )
    await house.run(['send', 'a', 'hi'])
    const served = await Served.start(house)
    const path = { agent: 'a' }
    expect(await served.call('retryTurn', { path, body: {}, headers: WAIT })).toMatchObject({ status: 200 })
    const log = house.log(id)
    expect(await served.call('resumeAgent', { path, body: {}, headers: WAIT })).toMatchObject({ status: 200 })
    expect(house.log(id)).toBe(log)
    await served.stop()
  })
})

describe.concurrent('a control', () => {
  test('compacts the conversation', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'hello')
    const served = await Served.start(house)
    const given = { path: { agent: 'a' }, body: { keep: 0 } }
    expect((await served.call('compactConversation', given)).data).toMatchObject({
      compacted: true,
      messages: 2,
    })
    expect(house.count(id, 'context.compacted')).toBe(1)
    await served.stop()
  })

  test('cancels with force the turn of a stopped process', async () => {
    const { house, first } = await atWork()
    process.kill((await house.ok('show', 'a', '--json')).json.holder.pid, 'SIGSTOP')
    const served = await Served.start(house)
    const { data } = await served.call('cancelTurn', { path: { agent: 'a' }, body: { force: true } })
    expect(data.agents).toMatchObject([{ cancelled: true }])
    await first.result
    await served.stop()
  })

  test('changes settings, and takes back what runs without approval', async () => {
    const house = new House()
    await house.spawn('a', '--allow', 'shell(npm test, once),read_file')
    const served = await Served.start(house)
    const set = async (body: object) =>
      (await served.call('setAgent', { path: { agent: 'a' }, body })).data.agent
    expect((await set({ disallow: ['shell(npm test, once)'] })).allow).toEqual(['read_file'])
    expect((await set({ title: '--allow', model: 'm', allow: ['write_file'] })).title).toBe('--allow')
    const { agent } = (await house.ok('show', 'a', '--json')).json
    expect([agent.allow, agent.model]).toEqual([['write_file'], 'm'])
    await served.stop()
  })

  test('gates, ungates, suspends, cancels and terminates', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    await house.spawn('b', '--parent', 'a')
    const served = await Served.start(house)
    const path = { agent: 'a' }
    expect((await served.call('gateAgent', { path, body: {} })).data).toMatchObject({
      gated: true,
      applied: true,
    })
    const refused = await served.call('sendMessage', { path, body: { content: 'x', if_busy: 'fail' } })
    expect(refused).toMatchObject({ status: 409, problem: { code: 'GATED' } })
    expect((await served.call('ungateAgent', { path, body: {} })).data.gated).toBe(false)
    await served.call('sendMessage', { path, body: { content: 'hi' } })
    await gate.isReached()
    const { data } = await served.call('cancelTurn', { path, body: {} })
    expect(data.agents).toMatchObject([{ agent: { id }, cancelled: true }])
    expect((await served.call('suspendAgent', { path, body: { hold: true } })).data.agent.state).toBe(
      'suspended',
    )
    const alone = await served.call('terminateAgent', { path, body: {} })
    expect(alone).toMatchObject({ status: 409, problem: { code: 'HAS_CHILDREN' } })
    const ended = await served.call('terminateAgent', { path, body: { recursive: true } })
    expect(ended.data.agents.map(({ path }) => path)).toEqual(['a/b', 'a'])
    await served.stop()
  })

  test('is refused by a server that only reads, like every other write', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const served = await Served.start(house, '--read-only')
    const log = house.log(id)
    const { pid } = served.running
    const children = () => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    for (const [at, methods] of Object.entries(served.document.paths))
      if ('post' in methods) {
        const response = await served.post(at.replace('{agent}', 'a'), {})
        const body = (await response.json()) as { code?: string; error?: { code: string } }
        expect([at, response.status, body.code ?? body.error?.code]).toEqual([at, 403, 'READ_ONLY'])
        expect([at, children()]).toEqual([at, ''])
      }
    expect(house.log(id)).toBe(log)
    await served.stop()
  })

  test('copies a conversation into a new agent, whole or up to a turn', async () => {
    const house = new House()
    const id = await house.spawn('a')
    for (const text of ['one', 'two']) await house.ok('send', 'a', text)
    const served = await Served.start(house)
    const path = { agent: 'a' }
    const { status, data } = await served.call('forkAgent', { path, body: { at: '1', name: 'b' } })
    expect([status, data.agent.path]).toEqual([201, 'b'])
    expect(house.records(data.agent.id)[1]).toMatchObject({ kind: 'session.seeded', from: id })
    const refused = await served.call('forkAgent', { path, body: { at: '3' } })
    expect(refused).toMatchObject({ status: 404, problem: { code: 'MESSAGE_NOT_FOUND' } })
    expect(house.ids()).toHaveLength(2)
    await served.stop()
  })

  test('takes messages out of the inbox of the operator, and only those', async () => {
    const house = new House()
    const send = (content: string) => ({ name: 'send_message', input: { to: 'operator', content } })
    const scenario = house.scenario('s.json', { tools: [send('first'), send('second')] }, { say: 'sent' })
    await house.spawn('a', '-o', scenario, '--allow', 'tree')
    await house.ok('send', 'a', 'go')
    const served = await Served.start(house)
    const path = { agent: 'operator' }
    const [first, second] = (await served.call('listMail', { path })).data.messages
    const messages = [first?.message_id as string]
    expect((await served.call('takeMail', { path, body: { messages } })).data.messages).toEqual([first])
    expect((await served.call('listMail', { path })).data.messages).toEqual([second])
    expect(await served.call('takeMail', { path, body: { messages } })).toMatchObject({
      status: 404,
      problem: { code: 'MESSAGE_NOT_FOUND' },
    })
    for (const body of [{ messages: ['--json'] }, { messages: [] }, {}])
      expect((await served.post('/v1/agents/operator/take', body)).status).toBe(400)
    const ofAgent = await served.call('takeMail', { path: { agent: 'a' }, body: { messages } })
    expect(ofAgent).toMatchObject({ status: 400, problem: { code: 'USAGE' } })
    await served.stop()
  })

  test('for messages of the inbox is answered only after they are gone', async () => {
    const house = new House({ NODE_OPTIONS: `--import ${HELD_RENAMES}` })
    house.env.HOLD_RENAMES = house.workspace
    const tool = { name: 'send_message', input: { to: 'operator', content: 'here' } }
    const scenario = house.scenario('s.json', { tools: [tool] }, { say: 'sent' })
    await house.spawn('a', '-o', scenario, '--allow', 'tree')
    await house.ok('send', 'a', 'go')
    const served = await Served.start(house)
    const path = { agent: 'operator' }
    const { messages } = (await served.call('listMail', { path })).data
    const taken = served.call('takeMail', {
      path,
      body: { messages: messages.map((each) => each.message_id) },
    })
    let isAnswered = false
    void taken.then(() => {
      isAnswered = true
    })
    await waitFor(() => house.read('held') !== undefined, 'the first rename')
    // The command has printed the messages. The server answers other requests, but not this one.
    for (let request = 0; request < 5; request++)
      expect((await served.call('listMail', { path })).data.messages).toEqual(messages)
    expect(isAnswered).toBe(false)
    house.write('go', '')
    expect((await taken).data.messages).toEqual(messages)
    expect((await served.call('listMail', { path })).data.messages).toEqual([])
    await served.stop()
  })

  test('that is not valid is refused with a sentence about its field', async () => {
    const served = await Served.start(new House())
    const detail = async (at: string, body: object): Promise<unknown> =>
      ((await (await served.post(at, body)).json()) as { detail: string }).detail
    const send = (body: object) => detail('/v1/agents/a/messages', body)
    expect(await detail('/v1/agents', { workspace: 'x' })).toBe('workspace must begin with "/"')
    expect(await detail('/v1/agents', { prompt: 5 })).toBe('prompt must be a text')
    expect(await detail('/v1/agents', { nmae: 'x' })).toBe('the body has no field "nmae"')
    expect(await detail('/v1/agents', { options: { a: 1 } })).toBe('options.a must be a text')
    expect(await send({})).toBe('content is missing')
    expect(await send({ content: 'x', if_busy: 'no' })).toBe('if_busy must be one of "queue", "wait", "fail"')
    expect(await send({ content: 'x', max_steps: 0 })).toBe('max_steps must be at least 1')
    expect(await send({ content: 'x', max_steps: 1.5 })).toBe('max_steps must be a whole number')
    expect(await send({ content: 'x', allow: 'shell' })).toBe('allow must be a list')
    await served.stop()
  })

  test('with a field that does not exist, or a body of another type, is refused', async () => {
    const served = await Served.start(new House())
    expect(await (await served.post('/v1/agents/a/gate', { recursiv: true })).json()).toMatchObject({
      code: 'USAGE',
    })
    const form = {
      method: 'POST',
      body: 'a=b',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }
    expect((await served.fetch('/v1/agents', form)).status).toBe(415)
    const large = {
      method: 'POST',
      body: Buffer.alloc(25 * 1024 * 1024),
      headers: { 'content-type': 'application/json' },
    }
    expect((await served.fetch('/v1/agents', large)).status).toBe(413)
    await served.stop()
  })
})

test('a command that is killed after its record is answered from it, and without one is a problem', async () => {
  const house = new House()
  const gate = new Gate(house, 'g')
  const id = await house.spawn('a', ...gate.flags)
  const served = await Served.start(house)
  const sending = served.call('sendMessage', { path: { agent: 'a' }, body: { content: 'hi' }, headers: WAIT })
  await gate.isReached()
  const pid = house
    .records(id)
    .flatMap((record) => (record.kind === 'run.started' ? [record.boot_id] : []))[0]
  process.kill(Number(pid?.split('/')[2]), 'SIGKILL')
  expect(await sending).toMatchObject({ status: 502, problem: { code: 'CHILD_DIED', who: 'anyone' } })
  await waitFor(() => house.count(id, 'run.started') === 1, 'the record')
  await served.stop()
})
