import type { Mail, Unframed } from 'substrat/store'
import { bytesOf } from './client.js'
import { call, type Shared } from './rights.js'

type State = 'pending' | 'returning' | 'removed' | 'taken' | 'aside'

const OPERATOR_ID = '00000000-0000-0000-0000-000000000000'

/** Each change has a random id, so that a call that is sent again after a lost answer gets the same result. */
export class RemoteMail implements Mail {
  constructor(private readonly shared: Shared) {}

  put(to: string, messageId: string, message: object): boolean {
    const { kit } = this.shared
    const values = [this.recipient(to), messageId, kit.frame(message), kit.randomUuid()]
    const [row] = call(this.shared, to, (client) => client.call('put_mail', values))
    return row?.put_mail === true
  }

  replace(to: string, messageId: string, message: object): void {
    const values = [this.recipient(to), messageId, this.shared.kit.frame(message)]
    call(this.shared, to, (client) => client.call('replace_mail', values))
  }

  ids(to: string): string[] {
    const { client, pages } = this.shared
    const listed = pages.find(to)?.row?.mail as string[] | undefined
    return client.cachedMail(to)?.mail ?? listed ?? this.idsIn(to, 'pending')
  }

  read(to: string, messageId: string): Unframed | undefined {
    return this.readIn(to, messageId, 'pending')
  }

  remove(to: string, messageId: string): boolean {
    return this.move(to, messageId, 'pending', 'removed')
  }

  /** A removal is committed. */
  syncRemovals(): void {}

  setToReturn(agentId: string, messageId: string): boolean {
    return this.move(agentId, messageId, 'pending', 'returning')
  }

  idsToReturn(agentId: string): string[] {
    return this.idsIn(agentId, 'returning')
  }

  readToReturn(agentId: string, messageId: string): Unframed | undefined {
    return this.readIn(agentId, messageId, 'returning')
  }

  removeReturned(agentId: string, messageId: string): void {
    this.move(agentId, messageId, 'returning', 'removed')
  }

  keepUnreturned(agentId: string, messageId: string): void {
    this.move(agentId, messageId, 'returning', 'pending')
  }

  take(messageId: string): void {
    this.move(this.shared.kit.OPERATOR, messageId, 'pending', 'taken')
  }

  forgetTaken(beforeMs: number, isDryRun: boolean): number {
    const [row] = call(this.shared, undefined, (client) => client.call('forget_taken', [beforeMs, isDryRun]))
    return Number(row?.forget_taken)
  }

  setAside(to: string, messageId: string): string {
    this.move(to, messageId, 'pending', 'aside')
    return `${this.shared.url}/mail/${to}/${messageId}`
  }

  private move(to: string, messageId: string, from: State, state: State): boolean {
    const values = [this.recipient(to), messageId, from, state, this.shared.kit.randomUuid()]
    const [row] = call(this.shared, to, (client) => client.call('move_mail', values))
    return row?.move_mail === true
  }

  private idsIn(to: string, state: State): string[] {
    return call(this.shared, to, (client) => client.list('mail_ids', this.recipient(to), state))
  }

  private readIn(to: string, messageId: string, state: State): Unframed | undefined {
    const [row] = call(this.shared, to, (client) =>
      client.read('read_mail', this.recipient(to), messageId, state),
    )
    return row === undefined ? undefined : this.shared.kit.unframeFile(bytesOf(row.read_mail))
  }

  private recipient(to: string): string {
    return to === this.shared.kit.OPERATOR ? OPERATOR_ID : to
  }
}
