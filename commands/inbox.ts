import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { onlyWord } from '../src/command/input.js'
import { inboxText } from '../src/command/print/mail-text.js'
import { refuseInTool } from '../src/dispatch/caller.js'
import { OPERATOR } from '../src/format.js'
import {
  checkMayLook,
  damagedError,
  type InboxView,
  pick,
  takeMessages,
  viewInbox,
} from '../src/operations/inbox.js'

export default class Inbox extends BaseCommand {
  static override strict = false
  static override summary = 'Show the messages that wait for you, or for an agent.'
  static override description =
    'Looks, and takes nothing: the messages of an agent are taken by its turns. With --take those for you are printed and then moved aside, all of them or those whose ids are given. In a tool of an agent it shows the inbox of that agent.'
  static override examples = [
    '<%= config.bin %> inbox',
    '<%= config.bin %> inbox review/tests --json',
    '<%= config.bin %> inbox --take',
  ]
  static override args = {
    agent: Args.string({
      description: 'whose: name, uuid or its beginning, default yours; with --take ids of messages',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    take: Flags.boolean({ description: 'move your messages aside once they are printed' }),
  }

  async run(): Promise<void> {
    const { argv, flags } = await this.parse(Inbox)
    const words = argv as string[]
    if (flags.take) return this.take(words)
    const word = onlyWord(words)
    const store = this.openForRead()
    const owner = word === undefined ? (this.caller ?? OPERATOR) : this.ownerOf(word)
    if (store !== undefined) checkMayLook(store, this.caller, owner)
    await this.show(viewInbox(store, owner))
  }

  private ownerOf(word: string): string {
    return word === OPERATOR ? OPERATOR : this.resolveForRead(word).agentId
  }

  private async take(ids: string[]): Promise<void> {
    refuseInTool(this.caller, 'take messages out of the inbox of the operator')
    const all = viewInbox(this.openForRead(), OPERATOR)
    const inbox = ids.length === 0 ? all : pick(all, ids)
    if ((await this.show(inbox)) && inbox.messages.length > 0)
      takeMessages(this.openForWrite(), inbox.messages)
  }

  /** Whether all of it was read. */
  private async show(inbox: InboxView): Promise<boolean> {
    this.printObject(inbox, inboxText(inbox))
    const isPrinted = await this.isPrinted()
    const error = damagedError(inbox)
    if (error !== undefined) this.fail(error, false)
    return isPrinted
  }
}
