/** `answer`, and what a plain `send` does to a question. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { parked } from '../support/parked.js'

const QUESTION = { name: 'ask_operator', input: { question: 'Which branch?' } }

describe.concurrent('answer', () => {
  test('gives the model the text as the result of its question, and prints the reply', async () => {
    const house = new House()
    const { id, token } = await parked(house, { tools: [QUESTION] })
    expect(await house.ok('answer', 'a', 'main')).toMatchObject({
      stdout: 'finished\n',
      stderr: 'substrat: answered "Which branch?": main\n',
    })
    expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).toMatchObject({ content: 'main' })
    // One batch: the answer is recorded, the wait closed and the turn resumed.
    const records = house.records(id)
    const at = records.findIndex(({ kind }) => kind === 'token.consumed')
    expect(records[at + 1]).toMatchObject({ kind: 'run.resumed', batch: records[at]?.batch })
    const late = await house.run(['resume', 'a', '--token', token, '--input', 'main', '--json'])
    expect(late.json.error.code).toBe('TOKEN_REVOKED')
    expect(house.findings(true)).toEqual([])
  })

  test('reads the text from stdin', async () => {
    const house = new House()
    const { id } = await parked(house, { tools: [QUESTION, QUESTION] })
    expect((await house.run(['answer', 'a'], { stdin: 'one\n' })).exit).toBe(5)
    expect((await house.run(['answer', 'a', 'two', '-'], { stdin: 'more\n' })).stdout).toBe('finished\n')
    const results = house.records(id).filter(({ kind }) => kind === 'tool.finished')
    expect(results.map((record) => 'content' in record && record.content)).toEqual(['one', 'two\n\nmore'])
  })

  test('with a key answers once: a repetition returns the outcome, another text is refused', async () => {
    const house = new House()
    const { id } = await parked(house, { tools: [QUESTION, QUESTION] })
    expect((await house.run(['answer', 'a', '--key', 'k', 'main'])).exit).toBe(5)
    const log = house.log(id)
    expect((await house.run(['answer', 'a', '--key', 'k', 'main'])).exit).toBe(5)
    const other = await house.run(['answer', 'a', '--key', 'k', 'dev', '--json'])
    expect([other.exit, other.json.error.code]).toEqual([13, 'KEY_CONFLICT'])
    expect(house.log(id)).toBe(log)
    expect((await house.run(['answer', 'a', '--key', 'k2', 'dev'])).stdout).toBe('finished\n')
    await house.ok('send', 'a', 'another turn')
    expect((await house.run(['answer', 'a', '--key', 'k2', 'dev'])).stdout).toBe('finished\n')
  })

  test('is refused for an approval, and for an agent that does not wait', async () => {
    const house = new House()
    const { id } = await parked(house)
    const refused = await house.run(['answer', 'a', 'yes'])
    expect(refused).toMatchObject({ exit: 2, stdout: '' })
    expect(refused.stderr).toContain('(substrat approve a, or substrat deny a)')
    expect(house.count(id, 'token.consumed')).toBe(0)
    await house.spawn('b')
    expect((await house.run(['answer', 'b', 'yes'])).exit).toBe(13)
  })

  test('is refused in a tool of an agent', async () => {
    const house = new House()
    const { id } = await parked(house, { tools: [QUESTION] })
    expect((await house.run(['answer', 'a', 'main'], { env: { SUBSTRAT_AGENT: id } })).exit).toBe(13)
  })
})

describe.concurrent('a plain send without a terminal', () => {
  test('replaces the question, is never taken for the answer, and says what was given up', async () => {
    const house = new House()
    const { id } = await parked(house, { tools: [QUESTION] })
    const sent = await house.ok('send', 'a', 'main')
    expect(sent.stderr).toBe(
      `substrat: gave up the question "Which branch?" of a; this message starts a new turn (instead of send: substrat answer a '…')\n`,
    )
    expect(house.count(id, 'run.started')).toBe(2)
    expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).not.toMatchObject({
      content: 'main',
    })
  })

  test('replaces a pending approval, and names the call', async () => {
    const house = new House()
    await parked(house)
    expect((await house.ok('send', 'a', 'stop')).stderr).toContain(
      'gave up the pending approval (shell: echo ran >> ran; echo done) of a; this message starts a new turn (instead of send: substrat approve a, or substrat deny a)',
    )
  })

  test('says nothing was given up if no slot is free, and the turn still waits', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1' })
    const { id } = await parked(house, { tools: [QUESTION] })
    const log = house.log(id)
    const gate = new Gate(house, 'g')
    await house.spawn('slow', ...gate.flags)
    const slow = house.start(['send', 'slow', 'go'])
    await gate.isReached()
    const sent = await house.run(['send', 'a', 'main', '--timeout', '100ms'])
    expect(sent.exit).toBe(4)
    expect(sent.stderr).not.toContain('gave up')
    expect(house.log(id)).toBe(log)
    await slow.kill()
  })
})
