import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { waitFor } from '../support/wait.js'

describe.concurrent('log', () => {
  test('prints one readable entry per message and event', async () => {
    const house = new House()
    await house.spawn('a')
    await house.ok('send', 'a', 'one\ntwo')
    await house.ok('set', 'a', '--title', 'A line')
    await house.ok('suspend', 'a', '--hold')
    const { stdout } = await house.ok('log', 'a')
    expect(stdout.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/g, 'TIME').split('\n')).toEqual([
      `TIME  created as a, provider scripted, in ${house.workspace}`,
      'TIME  you: one',
      '                      two',
      'TIME  agent: echo: one',
      '                      two',
      'TIME  changed: title',
      'TIME  put on hold',
      '',
    ])
  })

  test('with --json prints the records as they are on disk', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'hello')
    const { stdout } = await house.ok('log', 'a', '--json')
    const printed = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(printed).toStrictEqual(house.records(id))
  })

  test('-n counts the entries that it prints, and records with --json', async () => {
    const house = new House()
    const id = await house.spawn('a')
    for (const message of ['one', 'two', 'three']) await house.ok('send', 'a', message)
    const entries = (await house.ok('log', 'a', '-n', '3')).stdout.trim().split('\n')
    expect(entries.map((entry) => entry.slice(22))).toEqual([
      'agent: echo: two',
      'you: three',
      'agent: echo: three',
    ])
    const records = (await house.ok('log', 'a', '-n', '3', '--json')).stdout.trim().split('\n')
    expect(records.map((line) => JSON.parse(line))).toStrictEqual(house.records(id).slice(-3))
    const all = await house.ok('log', 'a', '-n', '1000', '--json')
    expect(all.stdout.trim().split('\n')).toHaveLength(house.records(id).length)
  })

  test('-n finds the last records of a log that is larger than its window', async () => {
    const house = new House()
    await house.spawn('a')
    const large = 'x'.repeat(50_000)
    for (const message of ['1', '2', '3']) await house.run(['send', 'a', '-'], { stdin: message + large })
    const { stdout } = await house.ok('log', 'a', '-n', '5')
    expect(stdout.split('\n').map((line) => line.slice(22, 40))).toEqual([
      `agent: echo: 1${'x'.repeat(4)}`,
      `you: 2${'x'.repeat(12)}`,
      `agent: echo: 2${'x'.repeat(4)}`,
      `you: 3${'x'.repeat(12)}`,
      `agent: echo: 3${'x'.repeat(4)}`,
      '',
    ])
  })

  test('--follow prints new entries during a turn, and --until idle exits at its end', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'one'])
    await gate.isReached()
    const follower = house.start(['log', 'a', '--follow', '--until', 'idle', '--json'])
    const person = house.start(['log', 'a', '--follow'])
    await waitFor(() => follower.stdout.includes('provider.started'), 'the record of the running program')
    await waitFor(() => person.stdout.includes('you: one'), 'the message')
    expect(follower.child.exitCode).toBe(null)
    gate.open()
    await sender.result
    const followed = await follower.result
    expect(followed.exit).toBe(0)
    expect(
      followed.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toStrictEqual(house.records(id))
    await waitFor(() => person.stdout.includes('agent: done: one'), 'the reply')
    expect((await person.kill('SIGINT')).exit).toBe(130)
  })

  test('--follow exits at the next entry after its reader has closed the pipe', async () => {
    const house = new House()
    await house.spawn('a')
    const follower = house.start(['log', 'a', '--follow'], { stdout: 'closed' })
    expect((await follower.result).exit).toBe(0)
  })

  test('--follow --until idle prints the log of an idle agent and exits', async () => {
    const house = new House()
    await house.spawn('a')
    const { stdout } = await house.ok('log', 'a', '--follow', '--until', 'idle')
    expect(stdout).toContain('created as a')
  })

  test('--until without --follow is wrong usage', async () => {
    const house = new House()
    await house.spawn('a')
    const wrong = await house.run(['log', 'a', '--until', 'idle'])
    expect(wrong.exit).toBe(2)
    expect(wrong.stderr).toBe('substrat: --until needs --follow (substrat log --help)\n')
  })
})
