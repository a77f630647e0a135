/** The functions of a home's schema, called by several connections at once, on rows that the facts make themselves. */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Postgres } from '../../support/postgres.js'
import { waitFor } from '../../support/wait.js'

export const OPERATOR = '00000000-0000-0000-0000-000000000000'
export const NO_SNAPSHOT = [null, null, null]
export const NO_SLOT = [null, null]

/** A sentence that the schema keeps, and a check that throws if it does not. */
export type Facts = Record<string, (bench: Bench) => Promise<void>>

export interface AgentRow {
  id: string
  lease: string
}

export class Bench {
  private constructor(
    readonly one: pg.Client,
    readonly two: pg.Client,
    readonly three: pg.Client,
  ) {}

  static async on(server: Postgres, database: string): Promise<Bench> {
    return new Bench(
      await server.connect(database),
      await server.connect(database),
      await server.connect(database),
    )
  }

  async end(): Promise<void> {
    for (const client of [this.one, this.two, this.three]) await client.end()
  }

  /** Removes what an earlier fact left: transactions, and waits, which no row owns. */
  async reset(): Promise<void> {
    for (const client of [this.one, this.two, this.three]) await client.query('rollback; reset all')
    await this.rows('delete from substrat.edge')
  }

  /** Calls a function of the schema. Returns its rows. */
  async call(name: string, values: unknown[], by = this.one): Promise<Record<string, unknown>[]> {
    const places = values.map((_, index) => `$${index + 1}`)
    return (await by.query(`select * from substrat.${name}(${places})`, values)).rows
  }

  async rows(text: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
    return (await this.one.query(text, values)).rows
  }

  /** A held agent with a log of four bytes. `leftMs`: until its lease ends; negative if it is over. */
  async agent({
    id = randomUUID() as string,
    lease = randomUUID() as string,
    leftMs = 60_000,
  } = {}): Promise<AgentRow> {
    await this.rows(
      `insert into substrat.agent (id, log_bytes, lease, holder, expires_at, created_by)
         values ($1, 4, $2, '{}', clock_timestamp() + $3 * interval '1 ms', $2)`,
      id,
      lease,
      leftMs,
    )
    return { id, lease }
  }

  /** The agent, as its next holder has it. */
  async replaced({ id }: AgentRow, lease: string = randomUUID()): Promise<AgentRow> {
    await this.rows('update substrat.agent set lease = $2 where id = $1', id, lease)
    return { id, lease }
  }

  async leaseOf(id: string): Promise<unknown> {
    return (await this.rows('select lease from substrat.agent where id = $1', id))[0]?.lease
  }

  /** Takes the agent. Returns whether it got it. */
  async take(id: string, lease: string, dead: string | null = null, by = this.one): Promise<unknown> {
    return (await this.takeWithSlot(id, lease, null, randomUUID(), { dead, by })).got
  }

  /** Takes the agent with one of these slots. */
  async takeWithSlot(
    id: string,
    lease: string,
    slots: string[] | null,
    slotLease: string,
    { dead = null as string | null, boot = randomUUID() as string, by = this.one } = {},
  ): Promise<Record<string, unknown>> {
    const rows = await this.call(
      'take',
      [id, lease, dead, '{}', 30_000, boot, true, slots, slotLease, 2000, 0],
      by,
    )
    return rows[0] ?? {}
  }

  /** Takes the lease from the agent, as its holder releases it. */
  async left({ id }: AgentRow): Promise<void> {
    await this.rows('update substrat.agent set lease = null, expires_at = null where id = $1', id)
  }

  /** A held slot. Returns its name and its lease. */
  async slot(): Promise<[thing: string, lease: string]> {
    const [thing, lease] = [`slot/${randomUUID()}/0`, randomUUID()]
    await this.call('take_hold', [[thing], lease, '{}', '{}', 60_000])
    return [thing, lease]
  }

  async isSlotHeld(thing: string): Promise<boolean> {
    return (await this.call('hold_of', [thing])).length > 0
  }

  async append(
    { id, lease }: AgentRow,
    {
      batch = randomUUID() as string,
      offset = 4,
      format = 1,
      slot = NO_SLOT as [string, string] | null[],
      by = this.one,
    } = {},
  ): Promise<void> {
    await this.call('append', [id, lease, batch, offset, Buffer.from('more'), [], format, ...slot], by)
  }

  /** Ends a turn. `leaves`: with a snapshot of the whole log. */
  async endTurn(
    { id, lease }: AgentRow,
    {
      batch = randomUUID() as string,
      offset = 4,
      mail = [] as string[],
      leaves = false,
      slot = NO_SLOT as [string, string] | null[],
      by = this.one,
    } = {},
  ): Promise<unknown> {
    const snapshot = leaves ? [Buffer.from('{}'), offset + 4, offset] : NO_SNAPSHOT
    const text = Buffer.from('more')
    const values = [id, lease, batch, offset, text, [], 1, ...slot, mail, leaves, ...snapshot]
    return (await this.call('end_turn', values, by))[0]?.end_turn
  }

  async put(
    to: string,
    { message = randomUUID() as string, call = randomUUID() as string, text = 'hello', by = this.one } = {},
  ): Promise<unknown> {
    return (await this.call('put_mail', [to, message, Buffer.from(text), call], by))[0]?.put_mail
  }

  async isMarked(id: string): Promise<unknown> {
    return (await this.call('is_marked', [id]))[0]?.is_marked
  }

  /**
   * Calls `second` while the transaction of `first` is open, and commits it when `second` waits for it or has ended.
   * Returns the outcome of `second`.
   */
  async crossing<T>(first: () => Promise<unknown>, second: () => Promise<T>): Promise<T> {
    await this.one.query('begin')
    await first()
    const outcome = second()
    await this.untilWaiting(outcome)
    await this.one.query('commit')
    return outcome
  }

  /** Until a statement of this database waits for a lock, or `outcome` is known. */
  async untilWaiting(outcome: Promise<unknown>): Promise<void> {
    let hasEnded = false
    const end = (): void => {
      hasEnded = true
    }
    outcome.then(end, end)
    const waits =
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    await waitFor(
      async () => hasEnded || (await this.three.query(waits)).rows.length > 0,
      'a statement that waits for a lock',
    )
  }
}

export function demand(condition: boolean): void {
  if (!condition) throw new Error('the fact does not hold')
}

/** Demands that the call raises this SQLSTATE. */
export async function raises(sqlstate: string, call: Promise<unknown>): Promise<void> {
  const raised = await call.then(
    () => undefined,
    (error: { code?: string }) => error.code,
  )
  demand(raised === sqlstate)
}
