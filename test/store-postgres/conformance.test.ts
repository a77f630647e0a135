/** A home in PostgreSQL keeps every promise of `Store`. */
import { createRequire } from 'node:module'
import path from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { storeCases } from '../../src/storage/conformance/conformance.js'
import * as kit from '../../src/storage/kit.js'
import type { StorePlugin } from '../../src/storage/plugin.js'
import type { Lease } from '../../src/storage/store.js'
import { PLUGIN, Postgres, whyNoPostgres } from '../support/postgres.js'
import { waitFor } from '../support/wait.js'

const file = path.join(PLUGIN, 'dist/index.cjs')

describe.skipIf(whyNoPostgres() !== undefined)('a home in PostgreSQL', () => {
  const plugin = createRequire(file)(file) as StorePlugin
  let server: Postgres
  const databases: string[] = []
  const newHome = () => {
    const database = databases.pop() as string
    /** The lease ends in the database. Its holder learns it from the next renewal. */
    const lose = async (lease: Lease): Promise<void> => {
      await server.query(database, 'update substrat.agent set expires_at = now() where id = $1', [
        lease.agentId,
      ])
      await waitFor(() => isLost(lease), 'the holder learns that its lease is over')
    }
    return { open: () => plugin.open(kit, server.url(database), undefined), lose }
  }
  const cases = storeCases(newHome)
  beforeAll(async () => {
    server = new Postgres()
    for (const _ of cases) databases.push(await server.newHome())
  })
  afterAll(() => server?.remove())
  for (const { title, run } of cases) test(title, run)
})

function isLost(lease: Lease): boolean {
  try {
    lease.assertHeld()
    return false
  } catch {
    return true
  }
}
