import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'

const AGENT = {
  id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  name: 'a',
  path: 'a',
  title: null,
  parent: null,
  provider: 'scripted',
  model: null,
  state: 'suspended',
  status: 'idle',
  shown_status: 'idle',
  workspace: expect.any(String),
  created_at: expect.stringMatching(/^\d{4}-.*Z$/),
  updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
  last_seq: expect.any(Number),
  inbox: 0,
}
const RUN = {
  id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  status: 'completed',
  started_at: expect.any(String),
  ended_at: expect.any(String),
  usage: { input_tokens: 1, output_tokens: 2 },
}

describe.concurrent('send', () => {
  test('prints only the reply', async () => {
    const house = new House()
    await house.spawn('a')
    expect(await house.run(['send', 'a', 'hello'])).toMatchObject({
      exit: 0,
      stdout: 'echo: hello\n',
      stderr: '',
    })
  })

  test('prints with --json exactly the documented object', async () => {
    const house = new House()
    await house.spawn('a')
    const { json, stderr } = await house.run(['send', 'a', 'hello', '--json'])
    expect(json).toStrictEqual({ agent: AGENT, run: RUN, reply: 'echo: hello', wait: null })
    expect(json.agent.workspace).toBe(house.workspace)
    expect(json.agent.last_seq).toBe(house.records(json.agent.id).length)
    expect(stderr).toBe('')
  })

  test('prints with --stream every record of the turn, and its live text marked partial', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const before = house.records(id).length
    const { stdout } = await house.run(['send', 'a', 'hello', '--stream'])
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const partial = lines.filter((line) => line.partial)
    expect(partial).toStrictEqual([
      { agent: id, kind: 'message.agent', partial: true, run_id: expect.any(String), content: 'echo: hello' },
    ])
    const records = house.records(id).slice(before)
    const printed = lines.filter((line) => !line.partial)
    expect(printed).toStrictEqual(records.map((record) => ({ agent: id, ...record })))
  })

  test('appends stdin to the message after a blank line for -', async () => {
    const house = new House()
    await house.spawn('a')
    expect((await house.run(['send', 'a', 'Summarise:', '-'], { stdin: 'one\ntwo\n' })).stdout).toBe(
      'echo: Summarise:\n\none\ntwo\n',
    )
    expect((await house.run(['send', 'a', '-'], { stdin: 'only stdin' })).stdout).toBe('echo: only stdin\n')
    expect((await house.run(['send', 'a'], { stdin: 'piped\n' })).stdout).toBe('echo: piped\n')
  })

  test('does not read stdin without -, even one that never ends', async () => {
    const house = new House()
    await house.spawn('a')
    const sent = await house.run(['send', 'a', 'hello'], { stdin: 'open' })
    expect(sent).toMatchObject({ exit: 0, stdout: 'echo: hello\n' })
  })

  test('stores a message with U+2028, quotes, NUL and emoji unchanged', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const message = 'a\u2028b\u2029"\\\u0000🙂\r\nend'
    expect((await house.run(['send', 'a', '-'], { stdin: message })).stdout).toBe(`echo: ${message}\n`)
    expect(house.log(id)).not.toContain('\u2028')
    expect(house.findings()).toEqual([])
  })

  test('stores a message of 10 MiB in a blob, and refuses a larger one', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('s.json', { say: 'read' }))
    const most = Buffer.alloc(10 * 1024 * 1024, 'x')
    expect(await house.run(['send', 'a', '-'], { stdin: most })).toMatchObject({ exit: 0, stdout: 'read\n' })
    const log = house.log(id)
    expect(log.length).toBeLessThan(100_000)
    const refused = await house.run(['send', 'a', '-'], { stdin: Buffer.alloc(50 * 1024 * 1024, 'x') })
    expect(refused).toMatchObject({ exit: 2, stdout: '' })
    expect(refused.stderr).toContain('larger than 10485760 bytes')
    expect(house.log(id)).toBe(log)
  })
})

describe.concurrent('send to a busy agent', () => {
  test('waits by default, and runs its turn after the other', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const first = house.start(['send', 'a', 'one'])
    await gate.isReached()
    const second = house.start(['send', 'a', 'two'])
    gate.open()
    gate.open()
    expect((await first.result).stdout).toBe('done: one\n')
    expect((await second.result).stdout).toBe('done: two\n')
    expect(house.count(id, 'run.completed')).toBe(2)
  })

  test('exits 4 after --timeout, and names the holder', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    await house.spawn('a', ...gate.flags)
    const first = house.start(['send', 'a', 'one'])
    await gate.isReached()
    const results = await Promise.all([
      house.run(['send', 'a', 'two', '--if-busy', 'fail']),
      house.run(['send', 'a', 'two', '--timeout', '100ms']),
    ])
    for (const { exit, stderr, stdout } of results) {
      expect([exit, stdout]).toEqual([4, ''])
      expect(stderr).toMatch(
        /^substrat: agent a is busy: substrat send, pid \d+ on \S+ since [-\d]+ [\d:]+Z, holds it/,
      )
      expect(stderr).toContain(`pid ${first.pid} `)
      expect(stderr).toMatch(/to wait longer, add --timeout 1h; to queue a message, add --if-busy queue\)$/m)
    }
    const rotated = await house.run(['token', 'rotate', 'a'], { env: { SUBSTRAT_TIMEOUT: '100ms' } })
    expect(rotated.exit).toBe(4)
    expect(rotated.stderr).toMatch(/substrat show a; to wait longer, add --timeout 1h\)$/m)
    const json = (await house.run(['send', 'a', 'two', '--if-busy', 'fail', '--json'])).json
    expect(json).toStrictEqual({
      error: {
        code: 'LOCKED',
        message: expect.any(String),
        hint: expect.any(String),
        agent_id: expect.any(String),
        pid: first.pid,
        host: expect.any(String),
        command: 'substrat send',
        since: expect.stringMatching(/Z$/),
      },
    })
    gate.open()
    expect((await first.result).exit).toBe(0)
  })

  test('with --if-busy queue stores the messages, which are delivered in order after the turn', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const first = house.start(['send', 'a', 'one'])
    await gate.isReached()
    for (const message of ['two', 'three', 'four']) {
      const queued = await house.run(['send', 'a', message, '--if-busy', 'queue', '--json'])
      expect(queued).toMatchObject({ exit: 0 })
      expect(queued.json).toMatchObject({ run: null, reply: null, wait: null, agent: { status: 'running' } })
    }
    expect(house.inbox(id)).toHaveLength(3)
    for (let turn = 0; turn < 4; turn++) gate.open()
    expect((await first.result).stdout).toBe('done: one\n')
    const delivered = house
      .records(id)
      .flatMap((record) => (record.kind === 'mail.delivered' ? [record.content] : []))
    expect(delivered).toEqual(['two', 'three', 'four'])
    expect(house.count(id, 'run.completed')).toBe(4)
    expect(house.inbox(id)).toEqual([])
    expect(house.findings(true)).toEqual([])
  })

  test('stores a queued message with a key once, and refuses another text with that key', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const first = house.start(['send', 'a', 'one'])
    await gate.isReached()
    const queue = (message: string) => house.run(['send', 'a', message, '--key', 'k', '--if-busy', 'queue'])
    expect((await queue('two')).exit).toBe(0)
    expect((await queue('two')).exit).toBe(0)
    expect(await queue('other')).toMatchObject({ exit: 13 })
    expect(house.inbox(id)).toHaveLength(1)
    gate.open()
    gate.open()
    await first.result
    expect(await queue('two')).toMatchObject({ exit: 0, stdout: 'done: two\n' })
    expect(house.count(id, 'mail.delivered')).toBe(1)
    expect(house.count(id, 'run.started')).toBe(2)
  })

  test('does not deliver a key twice that is queued while its own turn runs', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const first = house.start(['send', 'a', 'one', '--key', 'k'])
    await gate.isReached()
    const again = await house.run(['send', 'a', 'one', '--key', 'k', '--if-busy', 'queue', '--json'])
    expect(again).toMatchObject({ exit: 0 })
    expect(again.json.run.status).toBe('open')
    expect(house.inbox(id)).toEqual([])
    expect((await house.run(['send', 'a', 'two', '--key', 'k', '--if-busy', 'queue'])).exit).toBe(13)
    gate.open()
    expect((await first.result).stdout).toBe('done: one\n')
    expect(house.count(id, 'run.started')).toBe(1)
  })

  test('repeats the reply of a key while another turn runs', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    gate.open()
    await house.ok('send', 'a', 'one', '--key', 'k')
    const busy = house.start(['send', 'a', 'two'])
    await house.waitForRecord(id, 'provider.started', 2)
    const again = await house.run(['send', 'a', 'one', '--key', 'k'])
    expect(again).toMatchObject({ exit: 0, stdout: 'done: one\n' })
    expect(again.stderr).toMatch(/this message was already sent with this key; its turn completed at/)
    gate.open()
    await busy.result
    expect(house.count(id, 'run.started')).toBe(2)
  })
})

describe.concurrent('send --key', () => {
  test('prints the same reply without a new turn, also with --stream and --json', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const first = await house.run(['send', 'a', 'hello', '--key', 'k', '--json'])
    await house.ok('send', 'a', 'something else')
    const log = house.log(id)
    const again = await house.run(['send', 'a', 'hello', '--key', 'k', '--json'])
    expect(again.json.run).toStrictEqual(first.json.run)
    expect(again.json.reply).toBe('echo: hello')
    const stream = await house.run(['send', 'a', 'hello', '--key', 'k', '--stream'])
    const kinds = stream.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).kind)
    expect(kinds).toEqual([
      'run.started',
      'message.user',
      'model.requested',
      'status.derived',
      'message.agent',
      'model.responded',
      'run.completed',
    ])
    expect(house.log(id)).toBe(log)
  })

  test('with --stream and --json, prints the records and then the result, or the error, on the last line', async () => {
    const house = new House()
    await house.spawn('a')
    const lines = async (...args: string[]): Promise<Record<string, unknown>[]> =>
      (await house.run(args)).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    const done = await lines('send', 'a', 'hello', '--stream', '--json')
    expect(done[0]).toMatchObject({ kind: 'session.activated' })
    expect(done.at(-2)).toMatchObject({ kind: 'status.derived' })
    expect(done.at(-1)).toMatchObject({ agent: { name: 'a' }, reply: 'echo: hello' })
    const failing = house.scenario('s.json', { fail: { type: 'invalid' } })
    await house.spawn('b', '-o', failing)
    const failed = await lines('send', 'b', 'hello', '--stream', '--json')
    expect(failed.at(-1)).toMatchObject({ error: { code: 'PROVIDER_FAILED' } })
  })

  test('refuses the key with another message, and stores nothing', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'hello', '--key', 'k')
    const log = house.log(id)
    const refused = await house.run(['send', 'a', 'other', '--key', 'k', '--json'])
    expect(refused.exit).toBe(13)
    expect(refused.json.error).toMatchObject({ code: 'KEY_CONFLICT', key: 'k' })
    expect(house.log(id)).toBe(log)
  })

  test('repeats the same error after a failure, and runs the turn again with --retry', async () => {
    const house = new House()
    const options = house.scenario('s.json', { fail: { type: 'invalid' }, say: 'better' })
    const id = await house.spawn('a', '--option', options)
    const first = await house.run(['send', 'a', 'hello', '--key', 'k'])
    const again = await house.run(['send', 'a', 'hello', '--key', 'k'])
    expect([first.exit, again.exit]).toEqual([9, 9])
    expect(again.stderr).toContain(
      'the turn of a failed: its AI provider rejected the request: the scenario makes this request fail: invalid',
    )
    expect(house.count(id, 'run.started')).toBe(1)
    const retried = await house.run(['send', 'a', 'hello', '--key', 'k', '--retry'])
    expect(retried).toMatchObject({ exit: 0, stdout: 'better\n' })
    expect((await house.run(['send', 'a', 'hello', '--key', 'k', '--retry'])).stdout).toBe('better\n')
    expect(house.count(id, 'run.started')).toBe(2)
  })
})

describe.concurrent('the limits of a turn', () => {
  test('a turn of many model requests prints only its reply', async () => {
    const house = new House()
    const reads = { tools: [{ name: 'read_file', input: { path: 's.json' } }], delay_ms: 1 }
    const many = Array.from({ length: 12 }, () => reads)
    await house.spawn('a', '--option', house.scenario('s.json', ...many, { say: 'done' }))
    expect(await house.run(['send', 'a', 'go'])).toMatchObject({ exit: 0, stdout: 'done\n', stderr: '' })
  })

  test('--turn-timeout cancels the turn with exit 12, and the next message gets its reply', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    const sent = await house.run(['send', 'a', 'hello', '--turn-timeout', '100ms'])
    expect(sent).toMatchObject({ exit: 12, stdout: '' })
    expect(sent.stderr).toMatch(/the turn of a was stopped: it exceeded its time limit/)
    expect(house.kinds(id).slice(-4)).toEqual([
      'run.cancelled',
      'session.suspended',
      'status.derived',
      'mail.answered',
    ])
    house.scenario('s.json', { say: 'quick' })
    expect((await house.run(['send', 'a', 'again'])).stdout).toBe('quick\n')
  })

  test('a slot that does not become free within --timeout is exit 4, and nothing is stored', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1' })
    const gate = new Gate(house, 'g')
    await house.spawn('busy', ...gate.flags)
    const id = await house.spawn('a')
    const log = house.log(id)
    const busy = house.start(['send', 'busy', 'one'])
    await gate.isReached()
    const sent = await house.run(['send', 'a', 'hello', '--timeout', '100ms', '--json'])
    expect(sent.exit).toBe(4)
    expect(sent.json.error).toMatchObject({ code: 'NO_SLOT', slots_max: 1 })
    expect(house.log(id)).toBe(log)
    gate.open()
    await busy.result
    expect((await house.run(['send', 'a', 'hello'])).stdout).toBe('echo: hello\n')
  })
})
