/** Homes of tests in PostgreSQL. `npm run test:postgres` runs the tests of programs, tools and kept servers with them. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openHome, openUrlsWith } from '../../src/storage/open.js'
import type { StorePlugin } from '../../src/storage/plugin.js'
import type { Store } from '../../src/storage/store.js'
import { HOMES_SERVER } from './postgres-homes-server.js'

const PLUGIN = join(import.meta.dirname, '../../plugins/store-postgres')

/** The directory of the server's socket, and an empty home there. Undefined: homes are in files. */
const [server, template] = process.env[HOMES_SERVER]?.split(' ') ?? []
const made: string[] = []

export const IN_POSTGRES = server !== undefined

export const LINKED = IN_POSTGRES ? [{ name: 'substrat-store-postgres', type: 'link', root: PLUGIN }] : []

if (IN_POSTGRES) {
  const file = join(PLUGIN, 'dist/index.cjs')
  const { open, transfer } = createRequire(file)(file) as StorePlugin
  openUrlsWith({
    open: (kit, url) => open(kit, url, undefined),
    transfer: (kit, url) => transfer(kit, url, undefined),
    prepare: () => undefined,
  })
  afterAll(() => {
    for (const name of made) query('postgres', `drop database ${name} with (force)`)
  })
}

/** The URL of a new home, which is removed after the test file. */
export function newHomeInPostgres(): string {
  const name = `test_${randomBytes(6).toString('hex')}`
  query('postgres', `create database ${name} template ${template}`)
  query(name, 'update substrat.home set home_id = gen_random_uuid()')
  made.push(name)
  return `postgres://postgres@/${name}?host=${server}`
}

export function storeAt(home: string): Store {
  const store = openHome(home)
  if (store === undefined) throw new Error(`there is no home at ${home}`)
  return store
}

/** For tests that read or damage the files of a home. */
export function assertInFiles(): void {
  if (IN_POSTGRES) throw new Error('this needs the files of the home')
}

/** The rows of a home, without those that only name its holders. */
export function storedIn(home: string): string {
  const [, database = ''] = /^postgres:\/\/[^/]*\/([^?]+)/.exec(home) ?? []
  const rows = ['batch', 'blob', 'kept', 'mail', 'name'].map((table) =>
    query(database, `select * from substrat.${table} order by 1, 2`),
  )
  return rows.join('\n')
}

function query(database: string, text: string): string {
  return execFileSync('psql', ['-h', server as string, '-U', 'postgres', '-d', database, '-qc', text], {
    stdio: 'pipe',
    encoding: 'utf8',
  })
}
