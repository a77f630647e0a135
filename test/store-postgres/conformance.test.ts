/** A home in PostgreSQL keeps every promise of `Store`. */
import { createRequire } from 'node:module'
import path from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { storeCases } from '../../src/storage/conformance/conformance.js'
import * as kit from '../../src/storage/kit.js'
import type { StorePlugin } from '../../src/storage/plugin.js'
import { PLUGIN, Postgres, whyNoPostgres } from '../support/postgres.js'

const why = whyNoPostgres()
if (why !== undefined) console.warn(`test/store-postgres is skipped: ${why}`)

const file = path.join(PLUGIN, 'dist/index.cjs')

describe.skipIf(why !== undefined)('a home in PostgreSQL', () => {
  const plugin = createRequire(file)(file) as StorePlugin
  let server: Postgres
  const urls: string[] = []
  const newHome = () => {
    const url = urls.pop() as string
    return { open: () => plugin.open(kit, url, undefined) }
  }
  const cases = storeCases(newHome)
  beforeAll(async () => {
    server = new Postgres()
    for (const _ of cases) urls.push(server.url(await server.newHome()))
  })
  afterAll(() => server?.remove())
  for (const { title, run } of cases) test(title, run)
})
