/** A model refuses: the turn fails, its text is shown, and the conversation continues without it. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const REFUSED = { fail: { type: 'refused', attempts: 9 }, say: 'First you take' }

describe.concurrent('a turn that the model refuses', () => {
  test('exits 9 with the reason and the text before it, on stderr, in JSON and in the log', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('s.json', REFUSED))
    const sent = await house.run(['send', 'a', 'how?', '--key', 'k'])
    expect(sent).toMatchObject({ exit: 9, stdout: '' })
    expect(sent.stderr.trim().split('\n')).toEqual([
      'substrat: before refusing, the model said: First you take',
      "substrat: the turn of a failed: its AI model refused to answer: the scenario makes this request fail: refused (ask in other words: substrat send a '…')",
    ])
    const again = await house.run(['send', 'a', 'how?', '--key', 'k', '--json'])
    expect(again.exit).toBe(9)
    expect(again.json.error).toMatchObject({
      code: 'PROVIDER_FAILED',
      type: 'refused',
      said: 'First you take',
    })
    expect(sent.stderr).toContain(again.json.error.message)
    expect(house.count(id, 'model.requested')).toBe(1)
    expect((await house.ok('log', 'a')).stdout).toMatch(
      /before refusing, the model said: First you take\n +turn failed: its AI model refused/,
    )
  })

  test('is left out of later requests, and comes back when the user retries it', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('s.json', REFUSED))
    expect((await house.run(['send', 'a', 'how?'])).exit).toBe(9)
    house.scenario('s.json', { say: 'gladly' })
    expect((await house.ok('retry', 'a')).stdout).toBe('gladly\n')
    house.scenario('s.json', { say: 'gladly' }, REFUSED)
    expect((await house.run(['send', 'a', 'and this?'])).exit).toBe(9)
    // The scripted model chooses its answer by the length of its history.
    house.scenario('s.json', { say: 'gladly' }, { say: 'of course' })
    expect((await house.ok('send', 'a', 'something else')).stdout).toBe('of course\n')
    expect(house.count(id, 'run.failed')).toBe(2)
  })
})
