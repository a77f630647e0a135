/** A standby of a server of the tests, and an address that leads to one of the two. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Postgres } from './postgres.js'
import { waitFor } from './wait.js'

export class Pair {
  readonly standby: Postgres
  readonly #scratch = mkdtempSync(path.join(os.tmpdir(), 'pg-pair-'))
  #primary: Postgres

  constructor(readonly first: Postgres) {
    this.#primary = first
    this.standby = new Postgres({ isDurable: true, primary: first })
    this.#leadTo(first)
  }

  /** Commits wait for the standby from now on. */
  async makeSynchronous(): Promise<void> {
    await this.first.query('postgres', "alter system set synchronous_standby_names = '*'")
    await this.first.query('postgres', 'select pg_reload_conf()')
    await waitFor(async () => {
      const [row] = await this.first.query('postgres', 'select sync_state from pg_stat_replication')
      return row?.sync_state === 'sync'
    }, 'a synchronous standby')
  }

  /** Until the standby has everything. */
  async catchUp(): Promise<void> {
    const [row] = await this.first.query('postgres', 'select pg_current_wal_lsn()::text as lsn')
    await waitFor(async () => {
      const [at] = await this.standby.query(
        'postgres',
        'select pg_last_wal_replay_lsn() >= $1::pg_lsn as has',
        [row?.lsn],
      )
      return at?.has === true
    }, 'a standby that has everything')
  }

  /** The directory of the socket of the primary. It stays the same after a promotion. */
  get address(): string {
    return path.join(this.#scratch, 'primary')
  }

  /** The first server is dead. */
  promote(): void {
    this.standby.promote()
    this.#primary = this.standby
    rmSync(this.address)
    this.#leadTo(this.standby)
  }

  get primary(): Postgres {
    return this.#primary
  }

  remove(): void {
    this.standby.remove()
    rmSync(this.#scratch, { recursive: true })
  }

  #leadTo(server: Postgres): void {
    symlinkSync(server.directory, this.address)
  }
}
