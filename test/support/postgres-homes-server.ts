/** Starts the server of `npm run test:postgres`. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where a worker process finds the directory of its socket, and the name of an empty home. */
export const HOMES_SERVER = 'SUBSTRAT_TEST_HOMES'

export default async function setUp(): Promise<(() => void) | undefined> {
  if (process.env.SUBSTRAT_TEST_STORE !== 'postgres') return undefined
  const { Postgres, whyNoPostgres } = await import('./postgres.js')
  const why = whyNoPostgres()
  if (why !== undefined) throw new Error(`these tests need PostgreSQL: ${why}`)
  const server = new Postgres({ settings: ['max_connections=500'] })
  // The files of agents on this host.
  const state = mkdtempSync(join(tmpdir(), 'substrat-state-'))
  process.env.XDG_STATE_HOME = state
  process.env[HOMES_SERVER] = `${server.directory} ${await server.newHome()}`
  return () => {
    server.remove()
    rmSync(state, { recursive: true })
  }
}
