/**
 * Each predicate of the functions that guard a home is needed: without it, exactly the facts that name it fail. Random runs do not
 * notice a missing one.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres, whyNoPostgres } from '../support/postgres.js'
import { Bench, type Facts } from './facts/bench.js'
import { LEASE_FACTS } from './facts/leases.js'
import { MUTATIONS, type Mutation } from './facts/mutations.js'
import { POST_FACTS, RENEW_FACTS } from './facts/others.js'
import { TURN_FACTS, TURN_MUTATIONS } from './facts/turns.js'

const FACTS: Facts = { ...LEASE_FACTS, ...RENEW_FACTS, ...POST_FACTS, ...TURN_FACTS }
const ALL_MUTATIONS = [...MUTATIONS, ...TURN_MUTATIONS]

describe.skipIf(whyNoPostgres() !== undefined)('the schema of a home in PostgreSQL', () => {
  let server: Postgres
  let bench: Bench
  beforeAll(async () => {
    server = new Postgres()
    bench = await Bench.on(server, await server.newHome())
  })
  afterAll(async () => {
    await bench?.end()
    server?.remove()
  })

  for (const [title, fact] of Object.entries(FACTS)) test(title, () => fact(bench))

  describe.each(ALL_MUTATIONS)('$in without $drop', (mutation) => {
    test(`breaks: ${mutation.breaks.join('; ')}`, async () => {
      expect(await brokenBy(mutation)).toEqual(mutation.breaks)
    })
  })

  test('every fact is broken by a mutation', () => {
    const broken = new Set(ALL_MUTATIONS.flatMap(({ breaks }) => breaks))
    expect(Object.keys(FACTS).filter((title) => !broken.has(title))).toEqual([])
  })

  async function brokenBy({ in: name, drop, put = '' }: Mutation): Promise<string[]> {
    const [row] = await bench.rows(
      'select pg_get_functiondef(oid) as text from pg_proc where proname = $1',
      name,
    )
    const text = row?.text as string
    expect(text.split(drop), `${name} has this text once`).toHaveLength(2)
    await bench.rows(text.replace(drop, () => put))
    const broken: string[] = []
    for (const [title, fact] of Object.entries(FACTS)) {
      await fact(bench).catch(() => broken.push(title))
      await bench.reset()
    }
    await bench.rows(text)
    return broken
  }
})
