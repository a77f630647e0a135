/** A home in PostgreSQL that takes part in a migration. Each step is one transaction. */
import type { HomeTransfer, KeptThings, Migration } from 'substrat/store'
import { bytesOf } from './client.js'
import { removedOf } from './parts.js'
import type { Row } from './protocol.js'
import { call, type Shared } from './rights.js'
import { PostgresStore } from './store.js'

export class PostgresTransfer implements HomeTransfer {
  /** The migration of this command. */
  private migration: string | undefined

  constructor(private readonly shared: Shared) {}

  get label(): string {
    return this.shared.url
  }

  facts(): ReturnType<HomeTransfer['facts']> {
    const [row] = this.read('migration_facts')
    if (row === undefined) return undefined
    const migration = (row.migration ?? undefined) as Migration | undefined
    return { homeId: row.home_id as string, isEmpty: row.is_empty === true, migration }
  }

  store(): PostgresStore {
    return new PostgresStore(this.shared, this.shared.client.hello())
  }

  arrive(homeId: string, migration: Migration): PostgresStore {
    this.write('arrive_home', homeId, migration)
    this.migration = migration.id
    this.shared.client.arrivingBy = migration.id
    return this.store()
  }

  closeFor(migration: Migration): PostgresStore {
    this.migration = migration.id
    this.write('leave_home', migration)
    return this.store()
  }

  markLeft(): void {
    this.write('mark_home_left', this.migrationId())
  }

  open(): void {
    const id = this.migrationId()
    this.shared.client.arrivingBy = undefined
    this.write('open_home', id)
  }

  reopen(): void {
    this.write('open_home', this.migrationId())
  }

  discard(): void {
    this.write('discard_home')
  }

  readKept(): KeptThings {
    const { kit } = this.shared
    const taken = this.read('taken_mail').flatMap(({ message_id, bytes, taken_ms }) => {
      const line = kit.unframeFile(bytesOf(bytes))
      const facts = { messageId: message_id as string, takenMs: Number(taken_ms) }
      return 'damage' in line ? [] : [{ ...facts, message: line.object }]
    })
    const moves = this.read('all_moves').map(({ agent_id, move_id }) => ({
      agentId: agent_id as string,
      moveId: move_id as string,
    }))
    const removed = removedOf(this.shared)
      .all()
      .flatMap((each) => each.removed ?? [])
    return { taken, moves, removed }
  }

  writeKept({ taken, moves, removed }: KeptThings): void {
    const { kit } = this.shared
    for (const { messageId, message, takenMs } of taken)
      this.write('put_taken', messageId, kit.frame(message), takenMs)
    for (const { agentId, moveId } of moves) this.write('add_moves', agentId, [moveId])
    for (const each of removed) this.write('put_removed', each.agent_id, kit.frame(each))
  }

  /** That of an earlier command, if this one continues it. */
  private migrationId(): string | undefined {
    return this.migration ?? this.facts()?.migration?.id
  }

  private read(name: string, ...values: unknown[]): Row[] {
    return call(this.shared, undefined, (client) => client.read(name, ...values))
  }

  private write(name: string, ...values: unknown[]): void {
    call(this.shared, undefined, (client) => client.call(name, values))
  }
}
