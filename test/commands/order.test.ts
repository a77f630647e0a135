/** The order of messages that several commands bring while an agent runs a turn. */
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { House } from '../support/cli.js'
import { atWork, waiting } from '../support/waiting.js'

function order(house: House, id: string): string[] {
  return house
    .records(id)
    .flatMap((record) =>
      record.kind === 'message.user' || record.kind === 'mail.delivered' ? [String(record.content)] : [],
    )
}

describe.concurrent('a message of a waiting command', () => {
  test('comes before one that is queued later, and after one that was queued earlier', async () => {
    const { house, id, first } = await atWork()
    await house.ok('send', 'a', 'earlier', '--if-busy', 'queue')
    const second = await waiting(house, id, 'waiting')
    await house.ok('send', 'a', 'later', '--if-busy', 'queue')
    house.write('go', '')
    expect((await first.result).exit).toBe(0)
    expect(await second.result).toMatchObject({ exit: 0, stdout: '2\n' })
    expect(order(house, id)).toEqual(['first', 'earlier', 'waiting', 'later'])
    expect(readdirSync(house.agentFile(id, 'waits'))).toEqual([])
    expect(house.findings(true)).toEqual([])
  })

  test('no longer counts once its command is killed', async () => {
    const { house, id, first } = await atWork()
    const second = await waiting(house, id, 'killed')
    await house.ok('send', 'a', 'later', '--if-busy', 'queue')
    await second.kill()
    house.write('go', '')
    expect((await first.result).exit).toBe(0)
    expect(order(house, id)).toEqual(['first', 'later'])
    await house.ok('send', 'a', 'sweeps')
    expect(readdirSync(house.agentFile(id, 'waits'))).toEqual([])
  })

  test('leaves a later one to its command, also if that is refused', async () => {
    const { house, id, first } = await atWork()
    await house.ok('send', 'a', 'before', '--key', 'k', '--if-busy', 'queue')
    const second = await waiting(house, id, 'refused', '--key', 'k')
    await house.ok('send', 'a', 'later', '--if-busy', 'queue')
    house.write('go', '')
    expect((await first.result).exit).toBe(0)
    expect((await second.result).exit).toBe(13)
    expect(order(house, id)).toEqual(['first', 'before', 'later'])
    expect(house.inbox(id)).toEqual([])
    expect(house.findings(true)).toEqual([])
  })

  test('does not hold up a later one for long if its command is stopped', async () => {
    const { house, id, first } = await atWork()
    const second = await waiting(house, id, 'stopped')
    await house.ok('send', 'a', 'later', '--if-busy', 'queue')
    process.kill(second.pid, 'SIGSTOP')
    house.write('go', '')
    expect((await first.result).exit).toBe(0)
    expect(order(house, id)).toEqual(['first', 'later'])
    process.kill(second.pid, 'SIGCONT')
    expect((await second.result).stdout).toBe('2\n')
    expect(order(house, id)).toEqual(['first', 'later', 'stopped'])
  })

  test('is not preceded by a later one that another command delivers', async () => {
    const { house, id, first } = await atWork()
    const second = await waiting(house, id, 'waiting')
    await house.ok('send', 'a', 'later', '--if-busy', 'queue')
    const deliveries = Array.from({ length: 4 }, () => house.start(['deliver', 'a', '--timeout', '1m']))
    house.write('go', '')
    for (const { result } of [first, second, ...deliveries]) await result
    expect(order(house, id)).toEqual(['first', 'waiting', 'later'])
  })
})
