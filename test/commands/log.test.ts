import { describe, expect, test } from 'vitest'
import { frame } from '../../src/storage/log/frame.js'
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

  test.each(['model.failed', 'token.revoked'])(
    '-n reports a record %s without its fields as damage',
    async (kind) => {
      const house = new House()
      const id = await house.spawn('a')
      const seq = house.records(id).length + 1
      const record = { seq, ts: '2099-11-20T10:00:00.000Z', batch: [seq, seq], kind }
      house.damage(id, (log) => `${log}${frame(record).toString()}`)
      const { exit, stderr } = await house.run(['log', 'a', '-n', '1'])
      expect(exit).toBe(10)
      expect(stderr).toContain(`record ${seq}`)
    },
  )

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

  test('--since prints what is not older, in text, as JSON and while following', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'one')
    const before = house.records(id).length
    await house.ok('send', 'a', 'two')
    const since = house.records(id)[before]?.ts as string
    const printed = await house.ok('log', 'a', '--since', since)
    expect(entriesIn(printed.stdout)).toEqual(['you: two', 'agent: echo: two'])
    expect(linesIn(await house.ok('log', 'a', '--since', since, '--json'))).toStrictEqual(
      house.records(id).slice(before),
    )
    const followed = await house.ok('log', 'a', '--since', '1h', '--follow', '--until', 'idle')
    expect(entriesIn(followed.stdout)).toHaveLength(5)
    expect((await house.ok('log', 'a', '--since', '2999-01-01')).stdout).toBe('')
    const wrong = await house.run(['log', 'a', '--since', 'yesterday'])
    expect(wrong).toMatchObject({ exit: 2, stdout: '' })
  })

  test('--grep chooses by the text of entries, also in blobs, and -n counts only those', async () => {
    const house = new House()
    await house.spawn('a')
    for (const message of ['One fish', 'two', 'three fish']) await house.ok('send', 'a', message)
    await house.run(['send', 'a', '-'], { stdin: `${'x'.repeat(1_100_000)} whale` })
    const found = async (...flags: string[]): Promise<string[]> =>
      entriesIn((await house.ok('log', 'a', ...flags)).stdout)
    expect(await found('--grep', 'FISH')).toEqual([])
    expect(await found('--grep', 'one fish')).toEqual(['you: One fish', 'agent: echo: One fish'])
    expect(await found('--grep', '/^you: .*fish$/', '-n', '1')).toEqual(['you: three fish'])
    expect((await found('--grep', 'whale')).map((entry) => entry.slice(0, 8))).toEqual([
      'you: xxx',
      'agent: e',
    ])
    const records = linesIn(await house.ok('log', 'a', '--grep', 'three', '--json'))
    expect(records.map(({ kind }) => kind)).toEqual(['message.user', 'message.agent'])
    expect(linesIn(await house.ok('log', 'a', '--grep', 'message_id', '--json'))).toEqual([])
    const wrong = await house.run(['log', 'a', '--grep', '/(/'])
    expect(wrong.exit).toBe(2)
    expect(wrong.stderr).toContain('is not a regular expression')
  })

  test('--last-turn begins at the prompt of the latest turn, and at its first run if it was continued', async () => {
    const house = new House()
    await house.spawn('a', '--option', house.scenario('s.json', { fail: { type: 'invalid' } }))
    expect(entriesIn((await house.ok('log', 'a', '--last-turn')).stdout)).toEqual([])
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(9)
    await house.ok('retry', 'a')
    const entries = entriesIn((await house.ok('log', 'a', '--last-turn')).stdout)
    expect([entries[0], entries.at(-1)]).toEqual(['you: go', 'agent: echo: go'])
    expect(entries.filter((entry) => entry.startsWith('turn failed'))).toHaveLength(1)
    await house.ok('send', 'a', 'next')
    const next = await house.ok('log', 'a', '--last-turn')
    expect(entriesIn(next.stdout)[0]).toBe('you: next')
    expect(linesIn(await house.ok('log', 'a', '--last-turn', '--json'))[0]?.kind).toBe('run.started')
  })

  test('prints the life of tokens only with --all, and always with --json', async () => {
    const house = new House()
    const asks = { tools: [{ name: 'shell', input: { command: 'true' } }] }
    await house.spawn('a', '--option', house.scenario('s.json', asks))
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(5)
    await house.ok('token', 'rotate', 'a')
    const { stdout } = await house.ok('log', 'a')
    expect(stdout).not.toContain('token')
    expect(stdout.match(/waiting for approval/g)).toHaveLength(1)
    expect((await house.ok('log', 'a', '-n', '2')).stdout).toMatch(
      /calls shell: true\n.*waiting for approval/,
    )
    expect((await house.ok('log', 'a', '--all')).stdout).toMatch(
      /token \w{8} created, until .*\n.*waiting for approval of shell.*\n.*token \w{8} revoked: rotated\n.*token \w{8} created/,
    )
    expect((await house.ok('log', 'a', '--json')).stdout).toContain('token.revoked')
  })

  test('--follow ends when a terminated agent is done', async () => {
    const house = new House()
    await house.spawn('a')
    const follower = house.start(['log', 'a', '--follow'])
    await waitFor(() => follower.stdout.includes('created as a'), 'the first entry')
    await house.ok('terminate', 'a')
    const { exit, stdout } = await follower.result
    expect(exit).toBe(0)
    expect(stdout).toMatch(/terminated\n$/)
    expect((await house.ok('log', 'a', '--follow')).stdout).toBe(stdout)
  })
})

/** The entries of one line, without their times. */
function entriesIn(stdout: string): string[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.slice(22))
}

function linesIn({ stdout }: { stdout: string }): { kind: string }[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}
