/** `gate` and `ungate`: a gated agent starts no turn, and its mail stays pending. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'

describe.concurrent('gate', () => {
  test('leaves mail pending and refuses a message with exit 13; ungate delivers the pending mail', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const gated = await house.ok('gate', 'a', '--json')
    expect(gated.json).toMatchObject({ agent: { id }, gated: true, applied: true })
    const refused = await house.run(['send', 'a', 'one', '--json'])
    expect([refused.exit, refused.json.error.code]).toEqual([13, 'GATED'])
    await house.ok('send', 'a', 'two', '--queue')
    expect(house.inbox(id)).toHaveLength(1)
    expect(house.count(id, 'run.started')).toBe(0)
    const shown = await house.ok('show', 'a')
    expect(shown.stdout).toMatch(/^status +gated$/m)
    expect(shown.stdout).toMatch(/^next +substrat ungate a$/m)
    expect((await house.ok('ungate', 'a')).stdout).toBe('a is ungated\n')
    expect((await house.ok('show', 'a', '--reply')).stdout).toBe('echo: two\n')
    expect(house.inbox(id)).toEqual([])
    expect((await house.ok('send', 'a', 'three')).stdout).toBe('echo: three\n')
    const log = (await house.ok('log', 'a')).stdout
    expect(log).toMatch(/ {2}gated by you$/m)
    expect(log).toMatch(/ {2}ungated by you$/m)
    expect(house.findings(true)).toEqual([])
  })

  test('ungate --no-drain leaves mail pending for another command', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('gate', 'a')
    await house.ok('send', 'a', 'one', '--queue')
    await house.ok('ungate', 'a', '--no-drain')
    expect(house.inbox(id)).toHaveLength(1)
    await house.ok('resume', 'a')
    expect(house.inbox(id)).toEqual([])
  })

  test('takes effect at the end of a running turn, and says so', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'one'])
    await gate.isReached()
    await house.ok('send', 'a', 'two', '--queue')
    const gated = await house.ok('gate', 'a')
    expect(gated.stdout).toBe('a will be gated\n')
    expect(gated.stderr).toBe('substrat: a is running a turn; gate takes effect when the turn ends\n')
    gate.open()
    expect((await sender.result).exit).toBe(0)
    expect(house.count(id, 'run.started')).toBe(1)
    expect((await house.ok('show', 'a', '--json')).json.gate).toEqual({ gated: true, permits: 0 })
    gate.open()
    await house.ok('ungate', 'a')
    expect(house.count(id, 'run.completed')).toBe(2)
    expect(house.findings(true)).toEqual([])
  })

  test('is refused for a terminated or unknown agent, and stores nothing', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('terminate', 'a')
    const log = house.log(id)
    const refused = await house.run(['gate', id, '--json'])
    expect([refused.exit, refused.json.error.code]).toEqual([13, 'UNDELIVERABLE'])
    expect(house.log(id)).toBe(log)
    expect(house.inbox(id)).toEqual([])
    expect((await house.run(['ungate', 'nobody'])).exit).toBe(3)
  })
})
