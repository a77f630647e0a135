/** An agent that is open for reading. */
import type { FileLog } from './log/log.js'
import type { OpenedAgent, Store, Unframed } from './store.js'

/** The parts beside the log are read when they are first asked for, because few commands need them. */
export class OpenedFiles implements OpenedAgent {
  private held: boolean | undefined
  private ids: string[] | undefined

  constructor(
    private readonly store: Pick<Store, 'isHeld' | 'mail'>,
    private readonly agentId: string,
    readonly snapshot: Unframed,
    readonly log: FileLog,
  ) {}

  get isHeld(): boolean {
    this.held ??= this.store.isHeld(this.agentId)
    return this.held
  }

  get mailIds(): string[] {
    this.ids ??= this.store.mail.ids(this.agentId)
    return this.ids
  }
}
