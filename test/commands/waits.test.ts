/** Turns that wait for a person: parked with exit 5, and continued by a decision with or without the token. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { decides, MARKS, parked, ran } from '../support/parked.js'
import { waitFor } from '../support/wait.js'

const TOKEN = /st_[0-9a-f-]{36}_[\w-]{32}/g
const QUESTION = { name: 'ask_operator', input: { question: 'Which branch?' } }

describe.concurrent('a tool that may change things', () => {
  test('parks the turn: exit 5, with the call and the token once on stderr, and nothing on stdout', async () => {
    const house = new House()
    await house.spawn('a', '--option', house.scenario('s.json', { tools: [MARKS] }))
    const sent = await house.run(['send', 'a', 'go'])
    expect(sent).toMatchObject({ exit: 5, stdout: '' })
    expect(sent.stderr).toContain('substrat: the agent asks to run: shell: echo ran >> ran; echo done\n')
    expect(sent.stderr).not.toMatch(TOKEN)
    expect(sent.stderr).toMatch(
      /\nsubstrat: the turn of a is waiting for approval until \S+ \S+Z \(substrat approve a, or substrat deny a\)\n$/,
    )
    expect(ran(house)).toBe(0)
    // `show` prints the pending call, but not the token.
    const shown = await house.ok('show', 'a')
    expect(shown.stdout).toMatch(/^asks to run +shell: echo ran >> ran; echo done$/m)
    expect(shown.stdout).toMatch(/^next +substrat approve a$/m)
    expect(shown.stdout).not.toMatch(TOKEN)
    expect((await house.run(['resume', 'a', '--json'])).json.wait).toMatchObject({ token: null })
    expect((await house.ok('list', '--json')).json.agents[0].status).toBe('waiting')
  })

  test('has with --json the token in the object, and only its hash is on disk', async () => {
    const house = new House()
    const { id, token, told } = await parked(house)
    expect(told.json.wait).toStrictEqual({
      kind: 'approval',
      token: expect.stringMatching(TOKEN),
      token_id: token.slice(3, 39),
      deadline_at: expect.any(String),
      not_before: null,
      asks: [{ tool: 'shell', input: MARKS.input }],
    })
    expect(told.json).toMatchObject({ run: { status: 'open' }, reply: null, agent: { status: 'waiting' } })
    expect(told.stderr).not.toMatch(TOKEN)
    const secret = token.slice(40)
    expect(() => execFileSync('grep', ['-r', '-e', secret, house.home])).toThrow()
    expect(execFileSync('grep', ['-r', '-l', '-e', token.slice(3, 39), house.home]).toString()).toContain(id)
  })

  test('prints the token only on stderr and if asked, also with --stream', async () => {
    const house = new House()
    await house.spawn('a', '--option', house.scenario('s.json', { tools: [MARKS] }))
    const sent = await house.run(['send', 'a', 'go', '--stream', '--print-token'])
    expect(sent.exit).toBe(5)
    expect(sent.stderr.match(TOKEN)).toHaveLength(1)
    expect(sent.stdout).not.toMatch(TOKEN)
  })

  test('needs approval with its own token also in the turn of a queued message', async () => {
    const house = new House()
    const held = { name: 'shell', input: { command: 'until [ -e go ]; do sleep 0.02; done' } }
    const writes = { name: 'write_file', input: { path: 'made.txt', content: 'hello' } }
    const option = house.scenario('s.json', { tools: [held] }, { say: 'first' }, { tools: [writes] })
    const id = await house.spawn('a', '--option', option, '--allow', 'shell')
    const sender = house.start(['send', 'a', 'one', '--print-token'])
    await house.waitForRecord(id, 'tool.started')
    await house.ok('send', 'a', 'two', '--if-busy', 'queue')
    house.write('go', '')
    const sent = await sender.result
    expect(sent).toMatchObject({ exit: 0, stdout: 'first\n' })
    await waitFor(() => house.count(id, 'run.waiting') === 1, 'the second turn to wait')
    const [token] = sent.stderr.match(TOKEN) ?? []
    expect(await house.run(decides(token as string, '--approve'))).toMatchObject({ exit: 0 })
    expect(house.read('made.txt')).toBe('hello')
  })
})

test('a token that recovery creates is printed on stderr if asked', async () => {
  const house = new House()
  const option = house.scenario('s.json', { delay_ms: 3_600_000 })
  const id = await house.spawn('a', '--option', option)
  const sender = house.start(['send', 'a', 'go'])
  await house.waitForRecord(id, 'model.requested')
  await sender.kill()
  house.scenario('s.json', { tools: [MARKS] }, { say: 'finished' })
  const recovered = await house.run(['recover', '--all', '--json', '--print-token'])
  expect([recovered.exit, JSON.parse(recovered.stdout).exit]).toEqual([5, 5])
  const [token] = recovered.stderr.match(TOKEN) ?? []
  expect(await house.run(decides(token as string, '--approve'))).toMatchObject({ stdout: 'finished\n' })
})

describe.concurrent('resume with a token', () => {
  test.each([
    ['its value', (token: string) => ({ args: ['--token', token] })],
    ['- on stdin', (token: string) => ({ args: ['--token', '-'], options: { stdin: `${token}\n` } })],
    ['SUBSTRAT_TOKEN', (token: string) => ({ args: [], options: { env: { SUBSTRAT_TOKEN: token } } })],
  ])('reads it as %s; --approve runs the tool once, and the model continues', async (_, given) => {
    const house = new House()
    const { id, token } = await parked(house)
    const { args, options } = given(token) as { args: string[]; options?: object }
    expect(await house.run(['resume', 'a', ...args, '--approve'], options)).toMatchObject({
      exit: 0,
      stdout: 'finished\n',
      stderr: '',
    })
    expect(ran(house)).toBe(1)
    const kinds = house.kinds(id)
    const at = kinds.indexOf('token.consumed')
    expect(kinds[at + 1]).toBe('run.resumed')
    // One batch: the token is consumed, the decision recorded, the run resumed.
    const records = house.records(id)
    expect(records[at + 1]?.batch).toEqual(records[at]?.batch)
    expect(house.findings(true)).toEqual([])
  })

  test('--deny gives the model the reason, and runs nothing', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    const denied = await house.run(decides(token, '--deny', '--reason', 'Not on a Friday'))
    expect(denied).toMatchObject({ exit: 0, stdout: 'finished\n' })
    expect(ran(house)).toBe(0)
    expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).toMatchObject({
      content: 'Denied by the operator: Not on a Friday.',
      is_error: true,
    })
  })

  test('--result uses a file as the result of the call, and runs nothing', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    const file = house.write('result.txt', 'by hand')
    expect((await house.run(decides(token, '--result', file))).exit).toBe(0)
    expect(ran(house)).toBe(0)
    expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).toMatchObject({
      content: 'by hand',
      is_error: false,
    })
  })

  test('--result gives the model as much as a tool would; a blob has the whole text', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    house.write('result', 'x'.repeat(3_000_000))
    const given = await house.run(decides(token, '--result', 'result'))
    expect(given).toMatchObject({ exit: 0, stdout: 'finished\n' })
    const record = house.records(id).find(({ kind }) => kind === 'tool.finished')
    expect(record).toMatchObject({ is_error: false, output: { bytes: 3_000_000 } })
    expect(house.log(id).length).toBeLessThan(50_000)
    // Also when it is repeated: results are compared in full.
    expect((await house.run(decides(token, '--result', 'result'))).exit).toBe(0)
    house.write('result', `${'x'.repeat(2_000_000)}y${'x'.repeat(999_999)}`)
    expect((await house.run(decides(token, '--result', 'result'))).exit).toBe(13)
    expect(house.findings(true)).toEqual([])
  })

  test('--input answers a question; approving it is refused, and so is answering a tool', async () => {
    const house = new House()
    const { id, token, told } = await parked(house, { tools: [QUESTION] })
    expect(told.json.wait.kind).toBe('input')
    expect(told.stderr).toMatch(/substrat answer a '…'/)
    const approved = await house.run(decides(token, '--approve'))
    expect(approved).toMatchObject({ exit: 2, stdout: '' })
    expect(approved.stderr).toContain('it asks a question; use --input')
    expect((await house.run(decides(token, '--input', 'main'))).stdout).toBe('finished\n')
    expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).toMatchObject({ content: 'main' })
    const other = new House()
    const tool = await parked(other)
    expect((await other.run(decides(tool.token, '--input', 'main'))).exit).toBe(2)
    expect(other.count(tool.id, 'token.consumed')).toBe(0)
  })

  test('one decision covers all parked calls of a response; a result is for one call', async () => {
    const house = new House()
    const { id, token, told } = await parked(house, { tools: [MARKS, MARKS] })
    expect(told.json.wait.asks).toHaveLength(2)
    expect((await house.run(decides(token, '--result', house.write('r', 'x')))).exit).toBe(2)
    expect((await house.run(decides(token, '--approve'))).exit).toBe(0)
    expect(ran(house)).toBe(2)
    expect(house.count(id, 'token.minted')).toBe(1)
  })

  test('a decision without a token and a token without a decision are wrong usage', async () => {
    const house = new House()
    const { token } = await parked(house)
    const approved = await house.run(['resume', 'a', '--approve'])
    expect(approved).toMatchObject({ exit: 2, stdout: '' })
    expect(approved.stderr).toContain('on this machine: substrat approve a)')
    const answered = await house.run(['resume', 'a', '--input', 'x'])
    expect(answered.stderr).toContain("substrat answer a '…'")
    expect(await house.run(['resume', 'a', '--token', token])).toMatchObject({ exit: 2, stdout: '' })
    // A token in the environment of a plain resume decides nothing.
    expect((await house.run(['resume', 'a'], { env: { SUBSTRAT_TOKEN: token } })).exit).toBe(5)
  })
})

test('a token in the environment is not in that of the tools', async () => {
  const house = new House()
  const tools = [{ name: 'shell', input: { command: 'env' } }]
  const { id, token } = await parked(house, { tools })
  const resumed = await house.run(['resume', 'a', '--approve'], { env: { SUBSTRAT_TOKEN: token } })
  expect(resumed.stdout).toBe('finished\n')
  const log = house.log(id)
  expect(log).toContain('SUBSTRAT_RUN=')
  expect(log).not.toContain(token)
})

describe.concurrent('without a token', () => {
  test('approve names the approved calls, and revokes the token that was handed out', async () => {
    const house = new House()
    const { token } = await parked(house)
    const approved = await house.run(['approve', 'a'])
    expect(approved).toMatchObject({ exit: 0, stdout: 'finished\n' })
    expect(approved.stderr).toBe('substrat: approved shell: echo ran >> ran; echo done\n')
    expect(ran(house)).toBe(1)
    const late = await house.run(decides(token, '--approve', '--json'))
    expect([late.exit, late.json.error.code]).toEqual([13, 'TOKEN_REVOKED'])
    expect(await house.run(['approve', 'a'])).toMatchObject({ exit: 13, stdout: '' })
  })

  test('deny gives the model the reason', async () => {
    const house = new House()
    const { id } = await parked(house)
    expect((await house.ok('deny', 'a', '--reason', 'no')).stderr).toContain(
      'substrat: denied shell: echo ran',
    )
    expect(ran(house)).toBe(0)
    expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).toMatchObject({
      content: 'Denied by the operator: no.',
    })
  })

  test('with a TOKEN_ID, decides only if the agent waits for that token', async () => {
    const house = new House()
    const { id, told } = await parked(house)
    const other = '00000000-0000-4000-8000-000000000000'
    const refused = await house.run(['approve', 'a', other, '--json'])
    expect([refused.exit, refused.json.error.code]).toEqual([3, 'TOKEN_NOT_FOUND'])
    expect(house.count(id, 'token.consumed')).toBe(0)
    expect((await house.run(['approve', 'a', told.json.wait.token_id])).exit).toBe(0)
  })

  test('nothing is decided, and stderr names no decision, if no slot is free', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1' })
    const { id, token } = await parked(house)
    const log = house.log(id)
    const gate = new Gate(house, 'g')
    await house.spawn('slow', ...gate.flags)
    const slow = house.start(['send', 'slow', 'go'])
    await gate.isReached()
    const denied = await house.run(['deny', 'a', '--timeout', '100ms'])
    expect(denied.exit).toBe(4)
    expect(denied.stderr).not.toContain('denied')
    expect(house.log(id)).toBe(log)
    await slow.kill()
    // The token that was handed out still works.
    expect(await house.run(decides(token, '--deny'))).toMatchObject({ exit: 0, stdout: 'finished\n' })
  })

  test('the denied calls are named after the denial is recorded', async () => {
    const house = new House()
    await parked(house)
    expect(await house.run(['deny', 'a'])).toMatchObject({
      exit: 0,
      stdout: 'finished\n',
      stderr: expect.stringContaining('denied shell'),
    })
  })

  test('a decision is refused if the agent does not wait', async () => {
    const house = new House()
    await house.spawn('a')
    for (const words of [
      ['approve', 'a'],
      ['deny', 'a'],
      ['token', 'rotate', 'a'],
    ]) {
      const refused = await house.run(words)
      expect(refused).toMatchObject({ exit: 13, stdout: '' })
      expect(refused.stderr).toBe(
        'substrat: a is not waiting for a decision (see its status: substrat show a)\n',
      )
    }
  })
})

describe.concurrent('a waiting turn', () => {
  test('survives recovery and the loss of its snapshot, and is decided as before', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    const log = house.log(id)
    rmSync(house.agentFile(id, 'session.json'))
    const recovered = await house.run(['recover', '--all', '--json', '--print-token'])
    expect(recovered).toMatchObject({ exit: 5 })
    expect(JSON.parse(recovered.stdout)).toMatchObject({ row: 'H', outcome: 'marked', exit: 5 })
    expect(house.log(id)).toBe(log)
    expect(await house.run(decides(token, '--approve'))).toMatchObject({ exit: 0, stdout: 'finished\n' })
  })

  test('survives a kill of its process while it is parked', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('s.json', { tools: [MARKS] }, { say: 'ok' }))
    const sender = house.start(['send', 'a', 'go'])
    await house.waitForRecord(id, 'run.waiting')
    await sender.kill()
    expect((await house.ok('list', '--json')).json.agents[0].status).toBe('waiting')
    // Its token may be lost with the process, so a new one replaces it.
    const { stdout } = await house.ok('token', 'rotate', 'a')
    expect(await house.run(decides(stdout.trim(), '--approve'))).toMatchObject({ exit: 0, stdout: 'ok\n' })
    expect(house.findings(true)).toEqual([])
  })

  test('can be suspended, and ends with its agent', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    await house.ok('suspend', 'a')
    await house.ok('terminate', 'a')
    expect(house.kinds(id).slice(-5)).toEqual([
      'token.revoked',
      'tool.finished',
      'run.cancelled',
      'session.terminated',
      'status.derived',
    ])
    const late = await house.run(['resume', id, '--token', token, '--approve', '--json'])
    expect([late.exit, late.json.error.code]).toEqual([13, 'TOKEN_REVOKED'])
    expect(house.findings(true)).toEqual([])
  })

  test('past its deadline is interrupted_waiting for readers, is recorded once by recovery, and asks again', async () => {
    const house = new House()
    const { id, token } = await parked(house, { env: { SUBSTRAT_TOKEN_LIFETIME: '1ms' } })
    await house.waitForTime(id)
    const log = house.log(id)
    expect((await house.ok('list', '--json')).json.agents[0].status).toBe('interrupted_waiting')
    const { stdout } = await house.ok('show', 'a')
    expect(stdout).toMatch(/^waited for +approval until \S+ \S+Z: none came in time$/m)
    expect(stdout).toMatch(/^next +substrat resume a$/m)
    expect(house.log(id)).toBe(log)
    for (const late of [
      ['approve', 'a'],
      ['deny', 'a'],
      ['answer', 'a', 'yes'],
      ['token', 'rotate', 'a'],
    ]) {
      const { exit, stderr } = await house.run(late)
      expect(exit).toBe(13)
      expect(stderr).toMatch(
        /^substrat: a is no longer waiting for approval: none came before \S+ \S+Z \(let it ask again: substrat resume a\)$/m,
      )
    }
    // It asks again each time, until a person decides.
    for (const of of [['--all'], ['--all'], ['a']]) expect((await house.run(['recover', ...of])).exit).toBe(6)
    const ends = house.records(id).filter(({ kind }) => kind === 'run.interrupted')
    expect(ends).toMatchObject([{ reason: 'wait_timeout' }])
    expect((await house.ok('list', '--json')).json.agents[0].status).toBe('interrupted_waiting')
    const late = await house.run(decides(token, '--approve', '--json'))
    expect([late.exit, late.json.error.code]).toEqual([13, 'TOKEN_EXPIRED'])
    expect(late.json.error.hint).toBe('let it ask again: substrat resume a')
    const asked = await house.run(['resume', 'a', '--json'])
    expect(asked.exit).toBe(5)
    expect(asked.json.wait.asks).toEqual([{ tool: 'shell', input: MARKS.input }])
    expect((await house.run(decides(asked.json.wait.token, '--approve'))).stdout).toBe('finished\n')
    expect(ran(house)).toBe(1)
    expect(house.findings(true)).toEqual([])
  })
})

describe.concurrent('the reason of a denial', () => {
  test.each([
    ['not today', 'Denied by the operator: not today.'],
    ['No.', 'Denied by the operator: No.'],
    ['Why?', 'Denied by the operator: Why?'],
    ['see “make”.', 'Denied by the operator: see “make”.'],
  ])('%s ends the sentence that the model gets with one stop', async (reason, content) => {
    const house = new House()
    const { id } = await parked(house)
    await house.ok('deny', 'a', '--reason', reason)
    expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).toMatchObject({ content })
  })
})

describe.concurrent('a message to a waiting agent', () => {
  test('replaces the waiting turn, which is cancelled: its token is revoked, its calls answered', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    expect(await house.run(['send', 'a', 'never mind'])).toMatchObject({ exit: 0, stdout: 'finished\n' })
    expect(house.records(id).find(({ kind }) => kind === 'run.cancelled')).toMatchObject({
      reason: 'superseded',
    })
    const late = await house.run(decides(token, '--approve', '--json'))
    expect([late.exit, late.json.error.code]).toEqual([13, 'TOKEN_REVOKED'])
    expect(house.count(id, 'tool.finished')).toBe(1)
    expect(ran(house)).toBe(0)
    expect(house.findings(true)).toEqual([])
  })

  test('with --if-waiting fail, or with --key, is refused: exit 5, and no run starts', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    const log = house.log(id)
    for (const flags of [
      ['--if-waiting', 'fail'],
      ['--key', 'k'],
    ]) {
      const refused = await house.run(['send', 'a', 'other', ...flags, '--json'])
      expect(refused.exit).toBe(5)
      expect(refused.json).toMatchObject({ run: null, reply: null, wait: { kind: 'approval', token: null } })
      expect(refused.stderr).toContain('substrat: the message was not delivered')
    }
    // Only that it was refused is on the record.
    const added = house.log(id).slice(log.length).trim().split('\n')
    expect(house.log(id).startsWith(log)).toBe(true)
    expect(added.map((line) => JSON.parse(line).kind)).toEqual(['turn.refused', 'turn.refused'])
    expect(house.inbox(id)).toEqual([])
    expect((await house.run(decides(token, '--approve'))).exit).toBe(0)
  })

  test('with a key says which turn waits, since when, with how many messages behind it, and how to go on', async () => {
    const house = new House()
    await house.spawn('a', '--option', house.scenario('s.json', { tools: [MARKS] }, { say: 'finished' }))
    expect((await house.run(['send', 'a', 'look', '--key', 'night 1'])).exit).toBe(5)
    await house.ok('send', 'a', 'later', '--if-waiting', 'queue')
    const { exit, stderr } = await house.run(['send', 'a', 'look', '--key', 'night 2'])
    expect(exit).toBe(5)
    expect(stderr).toMatch(
      /not delivered: an earlier turn \([0-9a-f]{8}, key "night 1"\) is waiting since 20[-0-9]+ [0-9:]+Z: the pending approval .*; 1 message is queued behind it\n/,
    )
    expect(stderr).toMatch(
      /decide it: substrat approve a, or substrat deny a; --if-waiting queue .*; --if-waiting supersede .*; substrat set a --allow shell lets/,
    )
    expect(
      (await house.run(['send', 'a', 'look', '--key', 'night 3', '--if-waiting', 'supersede'])).exit,
    ).toBe(0)
  })

  test('with --if-waiting queue is delivered after the waiting turn', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    const queued = await house.run(['send', 'a', 'later', '--if-waiting', 'queue', '--json'])
    expect(queued.json).toMatchObject({ run: null, agent: { inbox: 1, status: 'waiting' } })
    expect(queued.exit).toBe(0)
    // Mail never replaces a waiting turn, with any command.
    expect((await house.run(['recover', '--all'])).exit).toBe(5)
    expect((await house.run(['resume', 'a'])).exit).toBe(5)
    expect(house.count(id, 'mail.delivered')).toBe(0)
    expect((await house.run(decides(token, '--approve'))).stdout).toBe('finished\n')
    expect(house.count(id, 'mail.delivered')).toBe(1)
    expect(house.inbox(id)).toEqual([])
    expect(house.findings(true)).toEqual([])
  })

  test('with the key of the waiting turn is exit 5 with that run', async () => {
    const house = new House()
    await house.spawn('a', '--option', house.scenario('s.json', { tools: [MARKS] }, { say: 'finished' }))
    const first = await house.run(['send', 'a', 'go', '--key', 'k', '--json'])
    const again = await house.run(['send', 'a', 'go', '--key', 'k', '--json'])
    expect([first.exit, again.exit]).toEqual([5, 5])
    expect(again.json.run).toStrictEqual(first.json.run)
    expect((await house.run(['approve', 'a'])).exit).toBe(0)
    expect(await house.run(['send', 'a', 'go', '--key', 'k'])).toMatchObject({
      exit: 0,
      stdout: 'finished\n',
    })
    expect(ran(house)).toBe(1)
  })

  test('with the key of the waiting turn after its deadline asks again, and is not delivered twice', async () => {
    const house = new House()
    const id = await house.spawn(
      'a',
      '--option',
      house.scenario('s.json', { tools: [MARKS] }, { say: 'finished' }),
    )
    const sends = ['send', 'a', 'go', '--key', 'k', '--json']
    expect((await house.run(sends, { env: { SUBSTRAT_TOKEN_LIFETIME: '1ms' } })).exit).toBe(5)
    await house.waitForTime(id)
    const again = await house.run(sends)
    expect([again.exit, again.json.wait.asks]).toEqual([5, [{ tool: 'shell', input: MARKS.input }]])
    expect(house.count(id, 'message.user')).toBe(1)
    expect((await house.run(decides(again.json.wait.token, '--approve'))).stdout).toBe('finished\n')
    expect(house.findings(true)).toEqual([])
  })
})
