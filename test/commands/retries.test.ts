/** Failed model requests: retried, delayed, compacted, or the end of the turn. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const QUICK = { SUBSTRAT_RETRY_DELAYS: '10ms,20ms' }

describe.concurrent('a request that fails', () => {
  test('is retried, and each attempt is on stderr and in the log', async () => {
    const house = new House(QUICK)
    const entry = { fail: { type: 'overloaded', attempts: 2 }, say: 'at last' }
    const id = await house.spawn('a', '--option', house.scenario('s.json', entry))
    const sent = await house.run(['send', 'a', 'go'])
    expect(sent).toMatchObject({ exit: 0, stdout: 'at last\n' })
    expect(sent.stderr.trim().split('\n')).toEqual([
      'substrat: its AI provider is too busy to answer: the scenario makes this request fail: overloaded; trying again in 0.01 s',
      'substrat: its AI provider is too busy to answer: the scenario makes this request fail: overloaded; trying again in 0.02 s',
    ])
    const failures = house.records(id).filter(({ kind }) => kind === 'model.failed')
    expect(failures).toMatchObject([{ retry_in_ms: 10 }, { retry_in_ms: 20 }])
    expect((await house.ok('log', 'a')).stdout.match(/request failed: .*retrying in/g)).toHaveLength(2)
    // Notes for the user are not in the model's history, and not in the next request.
    expect(house.count(id, 'model.requested')).toBe(3)
    expect((await house.ok('export', 'a', '--json')).json.messages).toHaveLength(2)
  })

  test('fails the turn after the last retry: exit 9, and the next message is delivered', async () => {
    const house = new House(QUICK)
    const entry = { fail: { type: 'overloaded', attempts: 9 } }
    const id = await house.spawn('a', '--option', house.scenario('s.json', entry))
    const sent = await house.run(['send', 'a', 'go', '--json'])
    expect([sent.exit, sent.json.error.code]).toEqual([9, 'PROVIDER_FAILED'])
    expect(house.count(id, 'model.failed')).toBe(3)
    expect((await house.ok('show', 'a')).stdout).toMatch(
      /^reason +its AI provider is too busy to answer: the scenario makes this request fail: overloaded$/m,
    )
  })

  test('is not retried if that cannot help', async () => {
    const house = new House(QUICK)
    const entry = { fail: { type: 'invalid', attempts: 9 } }
    const id = await house.spawn('a', '--option', house.scenario('s.json', entry))
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(9)
    expect(house.count(id, 'model.failed')).toBe(1)
  })
})

/** A rate limit that ends some time after the last retry. */
async function limited(house: House, forMs: number, ...flags: string[]): Promise<string> {
  const fail = { type: 'rate_limit', retry_after_ms: forMs, attempts: 1 }
  const id = await house.spawn('a', '--option', house.scenario('s.json', { fail, say: 'at last' }))
  const sent = await house.run(['send', 'a', 'go', ...flags])
  expect(sent).toMatchObject({ exit: 7, stdout: '' })
  expect(sent.stderr).toMatch(
    /substrat: a (is rate limited; its turn can continue at \S+ \S+Z \(wait until \S+ \S+Z, then|was rate limited until \S+ \S+Z; its turn can continue now \(continue it): substrat resume a, or substrat recover --all from cron\)\n$/,
  )
  return id
}

const LONG_MS = 3_600_000
const SHORT_MS = 1

describe.concurrent('a rate limit past the retries', () => {
  test('parks the turn until its time: resume, recover and the same key are exit 7 before it', async () => {
    const house = new House({ SUBSTRAT_RETRY_DELAYS: 'none' })
    const id = await limited(house, LONG_MS, '--key', 'k')
    const log = house.log(id)
    const resumed = await house.run(['resume', 'a', '--json'])
    expect(resumed.exit).toBe(7)
    expect(resumed.json.wait).toMatchObject({ kind: 'not_before', token: null, token_id: null })
    const at = Date.parse(resumed.json.wait.not_before)
    expect(at).toBeGreaterThan(Date.now() + LONG_MS / 2)
    expect((await house.run(['send', 'a', 'go', '--key', 'k'])).exit).toBe(7)
    const recovered = await house.run(['recover', '--all', '--json'])
    expect([recovered.exit, JSON.parse(recovered.stdout).row]).toEqual([7, 'H2'])
    expect(house.log(id)).toBe(log)
    expect((await house.ok('list', '--json')).json.agents[0].status).toBe('waiting')
    expect((await house.ok('show', 'a')).stdout).toMatch(/^waits until +\S+ \S+Z$/m)
    // No decision applies to it.
    expect((await house.run(['approve', 'a'])).exit).toBe(13)
  })

  test.each([
    ['resume', ['resume', 'a'], 'at last\n'],
    ['the same key', ['send', 'a', 'go', '--key', 'k'], 'at last\n'],
    ['recover --all', ['recover', '--all'], /continued, completed \[H2: waiting for a time\]/],
    ['another message, which is taken after it', ['send', 'a', 'next'], 'echo: next\n'],
  ] as const)('goes on once it is due, by %s', async (_, words, stdout) => {
    const house = new House({ SUBSTRAT_RETRY_DELAYS: 'none' })
    const id = await limited(house, SHORT_MS, '--key', 'k')
    await house.waitForTime(id)
    const went = await house.run([...words])
    expect(went.exit, went.stderr).toBe(0)
    if (typeof stdout === 'string') expect(went.stdout).toBe(stdout)
    else expect(went.stdout).toMatch(stdout)
    expect(await house.run(['send', 'a', 'go', '--key', 'k'])).toMatchObject({ exit: 0, stdout: 'at last\n' })
    expect(house.findings(true)).toEqual([])
  })

  test('does not use up the attempts of recovery', async () => {
    const house = new House({ SUBSTRAT_RETRY_DELAYS: 'none' })
    const fail = { type: 'rate_limit', retry_after_ms: 1, attempts: 5 }
    const id = await house.spawn('a', '--option', house.scenario('s.json', { fail, say: 'at last' }))
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(7)
    const exits: number[] = []
    for (let i = 0; i < 5; i++) {
      await house.waitForTime(id)
      exits.push((await house.run(['recover', '--all'])).exit)
    }
    expect(exits).toEqual([7, 7, 7, 7, 0])
    expect(house.count(id, 'run.started')).toBe(1)
    expect(house.count(id, 'run.interrupted')).toBe(0)
  })
})

test('a repeated key after a time limit reports the limit and not a cancellation, and nothing runs', async () => {
  const house = new House()
  const id = await house.spawn('a', '--option', house.scenario('s.json', { after_file: 'never' }))
  const command = ['send', 'a', 'go', '--key', 'k']
  expect((await house.run([...command, '--turn-timeout', '100ms'])).exit).toBe(12)
  const { exit, stderr, json } = await house.run([...command, '--json'])
  expect([exit, json.error.code]).toEqual([12, 'TIMED_OUT'])
  expect(stderr).toContain('was already sent with this key; its turn timed out')
  expect(json.error.message).toContain('it exceeded its time limit')
  expect(json.error.hint).toContain('--turn-timeout 1d')
  expect(stderr + json.error.message).not.toContain('cancelled')
  expect(house.count(id, 'run.started')).toBe(1)
})

describe.concurrent('a conversation that is too long for the model', () => {
  test('is compacted once, in one record, and the request is repeated', async () => {
    const house = new House(QUICK)
    const overflow = { fail: { type: 'overflow' }, say: 'shorter now' }
    const option = house.scenario('s.json', { say: 'x '.repeat(500) }, { say: 'two' }, overflow)
    const id = await house.spawn('a', '--option', option)
    for (const message of ['one', 'two']) await house.ok('send', 'a', message)
    const sent = await house.run(['send', 'a', 'three'])
    expect(sent).toMatchObject({ exit: 0, stdout: 'shorter now\n' })
    expect(sent.stderr).toContain('the conversation is too long for the model: compacting it')
    expect(house.count(id, 'context.compacted')).toBe(1)
    expect((await house.ok('log', 'a')).stdout).toMatch(/conversation compacted: \d+ messages dropped/)
    // The log keeps everything.
    expect((await house.ok('export', 'a', '--json')).json.messages).toHaveLength(6)
    expect(house.findings(true)).toEqual([])
  })

  test('fails the turn if it cannot be compacted: exit 9, and the context stays complete', async () => {
    const house = new House(QUICK)
    const option = house.scenario('s.json', { fail: { type: 'overflow', attempts: 9 } })
    const id = await house.spawn('a', '--option', option)
    const sent = await house.run(['send', 'a', 'one'])
    expect(sent).toMatchObject({ exit: 9, stdout: '' })
    expect(sent.stderr).toContain('could not be made shorter')
    expect(house.count(id, 'context.compacted')).toBe(0)
  })
})
