/** `doctor` compares the tables of a home in PostgreSQL. */
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'

describe.skipIf(whyNoPostgres() !== undefined)('doctor on a home in PostgreSQL', () => {
  let server: Postgres
  let whole: string
  const run = (home: string, ...argv: string[]) => {
    const env = server.environment(home)
    const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...argv], { env, encoding: 'utf8' })
    return { exit: status, stdout, stderr }
  }
  beforeAll(async () => {
    server = new Postgres()
    whole = await server.newHome()
    for (const argv of [
      ['spawn', '--name', 'notes', '--provider', 'scripted'],
      ['send', 'notes', 'long '.repeat(20_000)],
      ['send', 'notes', 'later', '--queue', '--no-drain'],
    ])
      expect(run(whole, ...argv).exit).toBe(0)
  })
  afterAll(() => server?.remove())

  test('finds nothing in a whole home', () => {
    expect(run(whole, 'doctor', '--all')).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('nothing is wrong'),
    })
  })

  test.each([
    ['update substrat.agent set log_bytes = log_bytes + 1', 'but its batches have'],
    [
      'update substrat.batch set first_byte = first_byte + 1 where first_byte > 0',
      'the batches before it end at byte',
    ],
    [
      'update substrat.agent set snapshot_log_bytes = log_bytes + 5',
      'its snapshot covers bytes that the log does not have',
    ],
    ['update substrat.agent set lease = gen_random_uuid()', 'its lease has no holder or no end'],
    ["update substrat.blob set bytes = bytes || 'x'::bytea", 'a blob does not have its SHA-256'],
    [
      'update substrat.mail set recipient = gen_random_uuid()',
      'a message is for an agent that does not exist',
    ],
    [
      'update substrat.hold set lease = gen_random_uuid(), holder = null',
      'a right has a lease without a holder',
    ],
  ])('after "%s" it exits 10 and says where', async (damage, says) => {
    const home = await server.copy(whole)
    await server.query(home, damage)
    const { exit, stdout } = run(home, 'doctor')
    expect([exit, stdout]).toEqual([10, expect.stringContaining(says)])
  })
})
