/** A resume token works once, also with several processes and after a kill. A refusal names its reason. */
import { describe, expect, test } from 'vitest'
import { House, type Result } from '../support/cli.js'
import { decides, MARKS, parked, ran } from '../support/parked.js'
import { waitFor } from '../support/wait.js'

function refusal({ exit, json }: Result): [number, string] {
  return [exit, json.error.code]
}

describe.concurrent('a token is refused with its reason', () => {
  test('malformed, foreign, with a wrong secret: nothing is stored, and the real token stays valid', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    const other = await parked(new House())
    const log = house.log(id)
    const wrongSecret = token.slice(0, -4) + (token.endsWith('AAAA') ? 'BBBB' : 'AAAA')
    const told: string[] = []
    for (const [given, code] of [
      ['hunter2', 'TOKEN_MALFORMED'],
      ['', 'TOKEN_MALFORMED'],
      [other.token, 'TOKEN_FOREIGN'],
      [wrongSecret, 'TOKEN_FOREIGN'],
    ] as const) {
      const refused = await house.run(decides('-', '--approve', '--json'), { stdin: given })
      expect(refusal(refused)).toEqual([13, code])
      expect(refused.stderr).toMatch(
        /\(see what the agent waits for: substrat show a; get a new token: substrat token rotate a\)\n$/,
      )
      // No part of a secret is printed again.
      expect(refused.stderr + refused.stdout).not.toContain(token.slice(40, -4))
      told.push(refused.json.error.message)
    }
    expect(new Set(told).size).toBe(2)
    expect(house.log(id)).toBe(log)
    expect((await house.run(decides(token, '--approve'))).exit).toBe(0)
  })

  test('expired, before any recovery', async () => {
    const house = new House({ SUBSTRAT_TOKEN_LIFETIME: '1ms' })
    const { id, token } = await parked(house)
    await house.waitForTime(id)
    const refused = await house.run(decides(token, '--approve', '--json'))
    expect(refusal(refused)).toEqual([13, 'TOKEN_EXPIRED'])
    expect(house.count(id, 'token.consumed')).toBe(0)
    expect([house.count(id, 'token.expired'), house.count(id, 'token.revoked')]).toEqual([1, 0])
    expect(ran(house)).toBe(0)
  })

  test('revoked: rotated, superseded, or its turn ended', async () => {
    const house = new House()
    const { token } = await parked(house)
    const words: string[] = []
    const refusedNow = async (): Promise<void> => {
      const refused = await house.run(decides(token, '--approve', '--json'))
      expect(refusal(refused)).toEqual([13, 'TOKEN_REVOKED'])
      words.push(refused.json.error.message)
    }
    const rotated = (await house.ok('token', 'rotate', 'a')).stdout.trim()
    await refusedNow()
    expect(words[0]).toContain('another token replaced it')
    await house.ok('cancel', 'a')
    const ended = await house.run(decides(rotated, '--approve', '--json'))
    expect(refusal(ended)).toEqual([13, 'TOKEN_REVOKED'])
    expect(ended.json.error.message).toContain('its turn has ended')
    expect(ran(house)).toBe(0)
  })

  test('consumed with another decision, or with the same one and another text', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    await house.ok(...decides(token, '--deny', '--reason', 'no'))
    for (const decision of [['--approve'], ['--deny'], ['--deny', '--reason', 'never']]) {
      const refused = await house.run(decides(token, ...decision, '--json'))
      expect(refusal(refused)).toEqual([13, 'TOKEN_CONSUMED'])
    }
    expect(house.count(id, 'token.consumed')).toBe(1)
    expect(ran(house)).toBe(0)
  })
})

describe.concurrent('repeating a decision', () => {
  test('returns the same outcome, even after another turn', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    const first = await house.run(decides(token, '--approve', '--json'))
    expect(first).toMatchObject({ exit: 0 })
    const log = house.log(id)
    expect((await house.run(decides(token, '--approve', '--json'))).json).toStrictEqual(first.json)
    expect(house.log(id)).toBe(log)
    await house.ok('send', 'a', 'another')
    const later = await house.run(decides(token, '--approve', '--json'))
    expect(later.json).toMatchObject({ run: first.json.run, reply: 'finished' })
    expect(house.count(id, 'token.consumed')).toBe(1)
    expect(ran(house)).toBe(1)
  })

  test('continues after the first command was killed with the token consumed', async () => {
    const house = new House()
    const slow = { name: 'read_file', input: { path: 's.json' } }
    const option = house.scenario('s.json', { tools: [MARKS, slow] }, { delay_ms: 3_600_000 })
    const id = await house.spawn('a', '--option', option)
    const { json } = await house.run(['send', 'a', 'go', '--json'])
    const { token } = json.wait
    const first = house.start(decides(token, '--deny'))
    await house.waitForRecord(id, 'token.consumed')
    await first.kill()
    house.scenario('s.json', { tools: [MARKS, slow] }, { say: 'finished' })
    const again = await house.run(decides(token, '--deny', '--json'))
    expect(again.json).toMatchObject({ run: { status: 'completed' }, reply: 'finished' })
    expect(again.exit).toBe(0)
    expect((await house.run(decides(token, '--deny', '--json'))).json).toStrictEqual(again.json)
    expect(house.count(id, 'token.consumed')).toBe(1)
    expect(house.findings(true)).toEqual([])
  })

  test('returns the outcome of the run that continued the interrupted one', async () => {
    const house = new House()
    const waits = { name: 'shell', input: { command: ': > started; sleep 3600' } }
    const { id, token } = await parked(house, { tools: [waits] })
    const first = house.start(decides(token, '--approve'))
    await waitFor(() => house.read('started') !== undefined, 'the tool')
    await first.kill()
    // The outcome of the tool is unknown, so a person must decide first. Repeating the decision does that.
    expect((await house.run(['recover', '--all'])).exit).toBe(6)
    const again = await house.run(decides(token, '--approve', '--json'))
    expect(again.json).toMatchObject({ run: { status: 'completed' }, reply: 'finished' })
    await house.ok('send', 'a', 'another')
    const later = await house.run(decides(token, '--approve', '--json'))
    expect(later.json).toMatchObject({ run: again.json.run, reply: 'finished' })
    expect(later.exit).toBe(0)
    expect(house.count(id, 'run.started')).toBe(3)
  })
})

describe.concurrent('a token is consumed once', () => {
  test('when several processes use it at once with the same decision: all return one outcome', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    const told = await Promise.all([1, 2, 3, 4].map(() => house.run(decides(token, '--approve', '--json'))))
    expect(told.map(({ exit }) => exit)).toEqual([0, 0, 0, 0])
    for (const { json } of told) expect(json).toMatchObject({ reply: 'finished', run: told[0]?.json.run })
    expect(house.count(id, 'token.consumed')).toBe(1)
    expect(ran(house)).toBe(1)
  })

  test('when two processes decide differently: one decision counts, the other is refused', async () => {
    const house = new House()
    const { id, token } = await parked(house)
    const told = await Promise.all(
      ['--approve', '--deny'].map((decision) => house.run(decides(token, decision, '--json'))),
    )
    expect(told.map(({ exit }) => exit).sort()).toEqual([0, 13])
    expect(told.find(({ exit }) => exit === 13)?.json.error.code).toBe('TOKEN_CONSUMED')
    expect(ran(house)).toBe(told[0]?.exit === 0 ? 1 : 0)
    expect(house.count(id, 'token.consumed')).toBe(1)
  })
})

test('token rotate prints only the new token, or with --json the object of the wait', async () => {
  const house = new House()
  const { id } = await parked(house)
  expect((await house.ok('token', 'rotate', 'a')).stdout).toMatch(/^st_[0-9a-f-]{36}_[\w-]{32}\n$/)
  const { json } = await house.ok('token', 'rotate', 'a', '--json')
  expect(json.wait).toMatchObject({
    kind: 'approval',
    token: expect.stringMatching(/^st_/),
    asks: [{ tool: 'shell' }],
  })
  expect(house.count(id, 'token.revoked')).toBe(2)
  expect((await house.run(decides(json.wait.token, '--approve'))).exit).toBe(0)
})
