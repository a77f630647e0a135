/** Homes in a PostgreSQL server of the lab. The oracle of the lab opens them as the program does. */
import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openUrlsWith } from '../../src/storage/open.js'
import type { StorePlugin } from '../../src/storage/plugin.js'
import { PLUGIN, Postgres, type PostgresOptions, whyNoPostgres } from '../../test/support/postgres.js'
import type { Lab } from './lab.js'

/** Ends the lab, and says why, if no server can be started here. */
export function skipWithoutPostgres(): void {
  const why = whyNoPostgres()
  if (why === undefined) return
  console.log(`skipped: ${why}`)
  process.exit(0)
}

export class Databases {
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
    openUrlsWith(
      (kit, url) => open(kit, url, undefined),
      (kit, url) => transfer(kit, url, undefined),
    )
    this.server = new Postgres(options)
  }

  /** A new home. Returns its URL. */
  async newHome(): Promise<string> {
    return this.server.url(await this.server.newHome())
  }

  close(): void {
    this.server.remove()
  }
}
