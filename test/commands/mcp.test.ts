/** Agent programs call substrat's tools by MCP, through `substrat mcp`. The holder of their agent serves the calls. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import {
  answered,
  answersIn,
  bridged,
  callsOf,
  line,
  lines,
  program,
  prompt,
  recordedCalls,
  servedTurn,
} from '../support/programs-with-tools.js'
import { waitFor } from '../support/wait.js'

const KID = { name: 'kid', provider: 'scripted' }

describe.concurrent('the program of an agent', () => {
  test('gets every tool of the tree, and no other', async () => {
    const house = new House()
    await program(house, 'a')
    const { stdout } = await house.ok('send', 'a', prompt(['tools']))
    expect(JSON.parse(stdout)[0].sort()).toEqual([
      'broadcast',
      'cancel_reminder',
      'check_inbox',
      'complete',
      'gate',
      'inspect_agent',
      'list_children',
      'permit_turn',
      'poke',
      'remind_me',
      'send_message',
      'set_metadata',
      'spawn_agent',
      'subscribe',
      'ungate',
      'unsubscribe',
    ])
  })

  test('calls each tool, and intent and result of each call are in its log', async () => {
    const house = new House()
    const id = await program(house, 'a', '--allow', 'tree')
    const calls: [string, object][] = [
      ['list_children', {}],
      ['spawn_agent', KID],
      ['list_children', {}],
      ['send_message', { to: 'kid', content: 'hi', wait: true }],
      ['inspect_agent', { agent: 'kid' }],
      ['subscribe', { agent: 'kid' }],
      ['unsubscribe', { agent: 'kid' }],
      ['gate', { agent: 'kid' }],
      ['permit_turn', { agent: 'kid' }],
      ['ungate', { agent: 'kid' }],
      ['poke', { agent: 'kid' }],
      ['broadcast', { content: 'all of you' }],
      ['check_inbox', {}],
      ['set_metadata', { metadata: { progress: 'half' } }],
      ['remind_me', { content: 'look again', delay_seconds: 3600 }],
      ['cancel_reminder', { reminder_id: 'none' }],
      ['complete', { result: 'all of it' }],
    ]
    const results = await callsOf(house, 'a', ...calls)
    expect(results.map(({ isError }, at) => [calls[at]?.[0], isError])).toEqual(
      calls.map(([name]) => [name, name === 'cancel_reminder' || name === 'complete']),
    )
    expect(results[3]?.text).toMatch(/^echo: \[request \S+ from a\]\nhi$/)
    expect(JSON.parse(String(results[4]?.text))).toMatchObject({ name: 'kid', reply: results[3]?.text })
    expect(recordedCalls(house, id)).toEqual(
      calls.map(([tool, input], at) => ({ tool, input, result: results[at]?.text })),
    )
    expect((await house.ok('show', 'a', '--json')).json.metadata).toEqual({ progress: 'half' })
    expect(house.findings()).toEqual([])
  })

  test('may not call a tool that changes things without --allow; a refused call stores nothing', async () => {
    const house = new House()
    const id = await program(house, 'a', '--allow', 'shell')
    const [spawn, set, list, unknown, shell] = await callsOf(
      house,
      'a',
      ['spawn_agent', KID],
      ['set_metadata', { metadata: { a: 'b' } }],
      ['list_children'],
      ['nonsense'],
      ['shell', { command: 'touch ran' }],
    )
    expect(spawn).toEqual({
      isError: true,
      text: 'This agent may not use spawn_agent. The user can allow it with --allow spawn_agent or --allow tree, at spawn, set or send.',
    })
    expect([set?.isError, list?.isError]).toEqual([true, false])
    expect([unknown?.text, shell?.text]).toEqual(['There is no tool nonsense.', 'There is no tool shell.'])
    expect(readdirSync(path.join(house.home, 'agents'))).toEqual([id])
    expect(recordedCalls(house, id).map(({ tool }) => tool)).toEqual([
      'spawn_agent',
      'set_metadata',
      'list_children',
      'nonsense',
      'shell',
    ])
    expect(house.read('ran')).toBeUndefined()
  })

  test('gets an error for a tool name or input that is too large, and its log stays valid', async () => {
    const house = new House()
    const id = await program(house, 'a', '--allow', 'tree')
    const content = 'x'.repeat(2_000_000)
    house.write('calls.json', prompt(['n'.repeat(2_000_000)], ['send_message', { to: 'nobody', content }]))
    const { exit, stdout, stderr } = await house.run(['send', 'a', '-'], {
      stdin: String(house.read('calls.json')),
    })
    expect(exit, stderr).toBe(0)
    expect(answersIn(stdout).map(({ isError }) => isError)).toEqual([true, true])
    expect(answersIn(stdout)[1]?.text).toContain('there is no agent "nobody"')
    expect(recordedCalls(house, id)[0]?.tool).toBe('n'.repeat(256))
    expect(house.findings()).toEqual([])
  })

  test('waits without its slot: with one slot in total, the other agent still runs', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1', SUBSTRAT_TIMEOUT: '1h' })
    await program(house, 'a', '--allow', 'tree')
    const results = await callsOf(
      house,
      'a',
      ['spawn_agent', KID],
      ['spawn_agent', { ...KID, name: 'other' }],
      ['send_message', { to: 'kid', content: 'one', wait: true }],
      [
        'together',
        {
          calls: [
            ['send_message', { to: 'kid', content: 'two', wait: true }],
            ['send_message', { to: 'other', content: 'three', wait: true }],
          ],
        },
      ],
    )
    expect(results.slice(2).map(({ text }) => text.split('\n')[1])).toEqual(['one', 'two', 'three'])
  })

  test('ends with complete: its parent gets the result and it is terminated, even if the program fails', async () => {
    const house = new House()
    await house.spawn('boss')
    const kids = await Promise.all(
      ['ends', 'fails'].map((name) => program(house, name, '--parent', 'boss', '--allow', 'tree')),
    )
    await house.ok('send', 'boss/ends', prompt(['complete', { result: 'all is well' }]))
    const failed = await house.run([
      'send',
      'boss/fails',
      prompt(['complete', { result: 'well enough' }], ['exit', { code: 3 }]),
    ])
    expect([failed.exit, failed.stdout]).toEqual([0, 'well enough\n'])
    for (const id of kids) {
      const { json } = await house.ok('show', id, '--json')
      expect(json.agent.state).toBe('terminated')
      expect(house.count(id, 'message.agent')).toBe(1)
    }
    const told = house.records((await house.ok('show', 'boss', '--json')).json.agent.id)
    const mails = told.filter(({ kind }) => kind === 'mail.delivered')
    expect(mails.map((mail) => (mail as { content?: unknown }).content)).toEqual([
      'all is well',
      'well enough',
    ])
  })

  test('still gets mail after complete while a new child keeps it alive', async () => {
    const house = new House()
    await house.spawn('boss')
    const kid = await program(house, 'kid', '--parent', 'boss', '--allow', 'tree')
    const calls = prompt(
      ['complete', { result: 'done' }],
      ['reached', { file: 'done' }],
      ['wait-for', { file: 'go' }],
    )
    const turn = house.start(['send', 'boss/kid', calls])
    await waitFor(() => house.read('done') !== undefined, 'complete')
    await house.ok('spawn', '--parent', 'boss/kid', '--name', 'late')
    house.write('go', '')
    expect((await turn.result).exit).toBe(0)
    await house.ok('send', 'boss/kid', prompt(['list_children']), '--queue', '--no-drain')
    await house.ok('wait', 'boss/kid', '--timeout', '1h')
    expect([house.inbox(kid), house.count(kid, 'mail.delivered')]).toEqual([[], 1])
    expect(house.findings()).toEqual([])
  })

  test('is terminated even if it is killed with its holder after complete', async () => {
    const house = new House()
    await house.spawn('boss')
    const id = await program(house, 'kid', '--parent', 'boss', '--allow', 'tree')
    const turn = house.start([
      'send',
      'boss/kid',
      prompt(
        ['complete', { result: 'so far' }],
        ['reached', { file: 'done' }],
        ['wait-for', { file: 'never' }],
      ),
    ])
    await waitFor(() => house.read('done') !== undefined, 'complete')
    await turn.kill()
    await house.run(['recover', '--all'])
    const { json } = await house.ok('show', id, '--json')
    expect([json.agent.state, json.reply]).toEqual(['terminated', 'so far'])
    const boss = (await house.ok('show', 'boss', '--json')).json.agent.id
    expect(house.log(boss)).toContain('so far')
    expect(house.findings(true)).toEqual([])
  })

  test('may end during a call: its turn completes, and the other agent finishes', async () => {
    const house = new House()
    const scenario = house.scenario('slow.json', { after_file: 'go', say: 'late' })
    const id = await program(house, 'a', '--allow', 'tree')
    const kid = await house.spawn('kid', '--parent', 'a', '-p', 'scripted', '--option', scenario)
    const wait = ['send_message', { to: 'kid', content: 'take your time', wait: true }]
    const file = house.agentFile(kid, 'events.jsonl')
    const turn = house.start(['send', 'a', prompt(['leave', { call: wait, file, text: 'run.started' }])])
    await house.waitForRecord(id, 'tool.finished')
    house.write('go', '')
    const { exit, stderr } = await turn.result
    expect(exit, stderr).toBe(0)
    // The program dies with the turn, in either order.
    expect(recordedCalls(house, id)[0]?.result).toMatch(
      /^(Interrupted: the turn ended|Cancelled by the program) before the call finished\.$/,
    )
    expect(house.count(kid, 'run.completed')).toBe(1)
    expect(house.count(kid, 'run.interrupted')).toBe(0)
    expect(house.log(id)).toContain('"mail_kind":"response"')
    expect(house.findings()).toEqual([])
  })
})

describe.concurrent('substrat mcp', () => {
  test('connects to its turn, also by a long path, and only for its own user', async () => {
    const house = new House()
    const home = path.join(house.root, 'h'.repeat(120), 'o'.repeat(120))
    const deep = new House({ SUBSTRAT_HOME: home })
    const { socket, turn, end } = await servedTurn(deep, 'a', '--allow', 'tree')
    expect(socket.length).toBeGreaterThan(250)
    expect(statSync(socket).mode & 0o777).toBe(0o600)
    const { exit, stdout } = await bridged(deep, socket, {
      stdin: lines(['set_metadata', { metadata: { a: 'b' } }]),
    })
    expect(exit).toBe(0)
    expect(answered(stdout)[1].result.content[0].text).toBe('noted')
    end()
    expect((await turn.result).stdout).toBe('done\n')
    expect(existsSync(socket)).toBe(false)
  })

  test('answers every request with an error without a turn, and exits at the end of its input', async () => {
    const house = new House()
    const { exit, stdout, stderr } = await house.run(['mcp'], { stdin: `${lines(['check_inbox'])}no json\n` })
    expect([exit, stderr]).toEqual([0, ''])
    const answers = answered(stdout)
    expect(answers.map(({ id, error }) => [id, error.code])).toEqual([
      [0, -32000],
      [1, -32000],
      [null, -32700],
    ])
    expect(answers[1].error.message).toContain('SUBSTRAT_SOCKET is not set')
    expect(house.exists()).toBe(false)
  })

  test('refuses a call after its holder died, in the same bridge and in a new one; the socket is swept', async () => {
    const house = new House()
    const { id, socket, turn } = await servedTurn(house, 'a', '--allow', 'tree')
    const bridge = house.start(['mcp'], { stdin: 'open', env: { SUBSTRAT_SOCKET: socket } })
    bridge.child.stdin?.write(lines())
    await waitFor(() => bridge.stdout !== '', 'the handshake')
    await turn.kill()
    expect((await bridge.result).exit).toBe(0)
    expect(existsSync(socket)).toBe(true)
    const late = await bridged(house, socket, { stdin: lines(['set_metadata', { metadata: { a: 'b' } }]) })
    expect(answered(late.stdout)[1].error.message).toContain('or its substrat process has died')
    await house.run(['recover', 'a', '--continue', 'none'])
    expect(existsSync(socket)).toBe(false)
    expect(house.log(id)).not.toContain('set_metadata')
  })

  test('answers calls in flight with an error when the holder dies', async () => {
    const house = new House()
    const { id, socket, turn } = await servedTurn(house, 'a', '--allow', 'tree')
    const kid = await house.spawn(
      'kid',
      '--parent',
      'a',
      '-p',
      'scripted',
      '--option',
      house.scenario('slow.json', { delay_ms: 3_600_000 }),
    )
    const bridge = house.start(['mcp'], { stdin: 'open', env: { SUBSTRAT_SOCKET: socket } })
    bridge.child.stdin?.write(lines(['send_message', { to: 'kid', content: 'x', wait: true }]))
    await house.waitForRecord(kid, 'run.started')
    await turn.kill()
    const { exit, stdout } = await bridge.result
    expect(exit).toBe(0)
    expect(answered(stdout)[1]).toMatchObject({ id: 1, error: { code: -32000 } })
    // substrat does not repeat the call: the program decides whether it still needs it.
    await house.run(['recover', 'a', '--continue', 'none'])
    expect(recordedCalls(house, id).map(({ result }) => result)).toEqual([
      expect.stringContaining('Interrupted, outcome unknown'),
    ])
    expect(house.count(kid, 'mail.delivered')).toBe(1)
    expect(house.findings()).toEqual([])
  })

  test('cannot reach a later run than its own', async () => {
    const house = new House()
    const first = await servedTurn(house, 'a', '--allow', 'tree')
    first.end()
    await first.turn.result
    house.write('a.socket', '')
    const turn = house.start(['send', 'a', 'again'])
    await waitFor(() => house.read('a.socket')?.endsWith('\n') === true, 'the second turn')
    expect(house.read('a.socket')?.trim()).not.toBe(first.socket)
    const { stdout } = await bridged(house, first.socket, { stdin: lines(['check_inbox']) })
    expect(answered(stdout)[1].error.message).toContain('has ended')
    first.end()
    expect((await turn.result).exit).toBe(0)
  })

  test('a cancelled call leaves the reply in the inbox, and a turn gets it as a message', async () => {
    const house = new House()
    const { id, socket, turn, end } = await servedTurn(house, 'a', '--allow', 'tree')
    const kid = await house.spawn(
      'kid',
      '--parent',
      'a',
      '-p',
      'scripted',
      '--option',
      house.scenario('slow.json', { after_file: 'go', say: 'late' }),
    )
    const bridge = house.start(['mcp'], { stdin: 'open', env: { SUBSTRAT_SOCKET: socket } })
    bridge.child.stdin?.write(lines(['send_message', { to: 'kid', content: 'x', wait: true }]))
    await house.waitForRecord(kid, 'run.started')
    bridge.child.stdin?.write(line({ method: 'notifications/cancelled', params: { requestId: 1 } }))
    await house.waitForRecord(id, 'tool.finished')
    expect(recordedCalls(house, id)[0]?.result).toBe('Cancelled by the program before the call finished.')
    house.write('go', '')
    bridge.child.stdin?.end()
    expect((await bridge.result).exit).toBe(0)
    await house.waitForRecord(kid, 'run.completed')
    // The turn that cancelled the call, then the turn of the reply.
    await waitFor(() => {
      end()
      return house.count(id, 'run.completed') === 2
    }, 'the turn of the reply')
    expect((await turn.result).exit).toBe(0)
    const replies = house.records(id).filter(({ kind }) => kind === 'mail.delivered')
    expect(replies).toHaveLength(1)
    expect(replies[0]).toMatchObject({ content: 'late', mail_kind: 'response' })
  })

  test('an invalid message gets an error, and later calls get their answers', async () => {
    const house = new House()
    const { socket, turn, end } = await servedTurn(house, 'a', '--allow', 'tree')
    const call = { method: 'tools/call', params: { name: 'x'.repeat(22 * 1024 * 1024) } }
    const stdin = [
      lines(),
      'no json\n\n',
      line({ id: 1, ...call }),
      `${JSON.stringify({ ...call, jsonrpc: '2.0', id: 2 })}\n`,
      line({ id: 3, method: 'ping', surplus: true }),
      line({ id: 4, method: 'tools/list' }),
    ].join('')
    const { exit, stdout, stderr } = await bridged(house, socket, { stdin })
    expect([exit, stderr]).toEqual([0, ''])
    const answers = new Map(answered(stdout).map(({ id, error }) => [id, error?.code]))
    expect(answers).toEqual(
      new Map([
        [0, undefined],
        [null, -32700],
        [1, -32600],
        [2, -32600],
        [3, undefined],
        [4, undefined],
      ]),
    )
    end()
    expect((await turn.result).stdout).toBe('done\n')
  })
})
