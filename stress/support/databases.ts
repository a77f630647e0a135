/** Homes in a PostgreSQL server of the lab. The oracle of the lab opens them as the program does. */
import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openUrlsWith } from '../../src/storage/open.js'
import type { StorePlugin } from '../../src/storage/plugin.js'
import { PLUGIN, Postgres, type PostgresOptions, whyNoPostgres } from '../../test/support/postgres.js'
import { copyBeside, databaseOf, type Lab, removeBeside } from './lab.js'

/** Ends the lab, and says why, if no server can be started here. */
export function skipWithoutPostgres(): void {
  const why = whyNoPostgres()
  if (why === undefined) return
  console.log(`skipped: ${why}`)
  process.exit(0)
}

const NAMES_KEPT = 12

export class Databases {
  private readonly used: string[] = []
  readonly server: Postgres
  /** The copy of the plugin. A rebuild during the run disturbs nothing. */
  readonly plugin: string

  constructor(lab: Lab, options: PostgresOptions = {}) {
    this.plugin = join(lab.root, 'store-postgres')
    for (const name of ['package.json', 'dist'])
      cpSync(join(PLUGIN, name), join(this.plugin, name), { recursive: true })
    lab.linkPlugin('substrat-store-postgres', this.plugin)
    const file = join(this.plugin, 'dist/index.cjs')
    const { open, transfer } = createRequire(file)(file) as StorePlugin
    openUrlsWith({
      open: (kit, url) => open(kit, url, undefined),
      transfer: (kit, url) => transfer(kit, url, undefined),
      prepare: () => undefined,
    })
    this.server = new Postgres(options)
  }

  /** A new home. Returns its URL. */
  async newHome(): Promise<string> {
    return this.server.url(await this.server.newHome(this.usedName()))
  }

  /** A new home with the same content, and with the files beside it. The connections to the other one are closed. */
  async copy(home: string): Promise<string> {
    const database = databaseOf(home)
    const end = 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1'
    await this.server.query('postgres', end, [database])
    const copy = this.server.url(await this.server.copy(database, this.usedName()))
    copyBeside(home, copy)
    return copy
  }

  async remove(home: string): Promise<void> {
    removeBeside(home)
    const database = databaseOf(home)
    await this.server.query('postgres', `drop database ${database} with (force)`)
    this.used.push(database)
  }

  /**
   * The name of a removed home. The oracle has a thread for each URL, so the URLs come again. Not at once: a program that outlived
   * its command may still write beside its home.
   */
  private usedName(): string | undefined {
    return this.used.length < NAMES_KEPT ? undefined : this.used.shift()
  }

  close(): void {
    this.server.remove()
  }
}
