import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { onlyWord } from '../src/console/input.js'
import { hanging, terminalColumns } from '../src/console/print/hanging.js'
import { inboxText } from '../src/console/print/mail-text.js'
import { refuseInTool } from '../src/dispatch/caller.js'
import { OPERATOR } from '../src/format.js'
import {
  checkMayLook,
  pick,
  requestsAnswered,
  takeMessages,
  unreadableError,
  viewInbox,
} from '../src/operations/inbox.js'
import type { InboxView } from '../src/schema/output-overview.js'

export default class Inbox extends BaseCommand {
  static override strict = false
  static override summary = "Show the pending messages in your inbox or in an agent's inbox."
  static override description =
    "--take prints your messages, then moves them out of the inbox. Name message ids, or unique beginnings of ids, to take only those. A turn delivers an agent's messages. Inside a tool call, the command shows the inbox of the calling agent."
  static override examples = [
    '<%= config.bin %> inbox',
    '<%= config.bin %> inbox review/tests --json',
    '<%= config.bin %> inbox --take',
  ]
  static override args = {
    agent: Args.string({
      description:
        'agent whose inbox to show; with --take, ids of messages to take; default: your inbox, all messages',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    take: Flags.boolean({
      description: 'move your messages out of the inbox after printing them; default: leave them',
    }),
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
    refuseInTool(this.caller, "take messages from the operator's inbox")
    const all = viewInbox(this.openForRead(), OPERATOR)
    const inbox = ids.length === 0 ? all : pick(all, ids)
    if ((await this.show(inbox)) && inbox.messages.length > 0)
      takeMessages(this.openForWrite(), inbox.messages)
  }

  /** Whether everything was written to stdout: otherwise --take must not remove the messages. */
  private async show(inbox: InboxView): Promise<boolean> {
    const store = this.jsonEnabled() ? undefined : this.openForRead()
    const asked = store === undefined ? new Map<string, string>() : requestsAnswered(store, inbox.messages)
    const columns = terminalColumns()
    const indentOf = (line: string): number => line.search(/\S|$/)
    const text =
      columns === undefined ? inboxText(inbox, asked) : hanging(inboxText(inbox, asked), columns, indentOf)
    this.printObject(inbox, text)
    const isPrinted = await this.isPrinted()
    const error = unreadableError(inbox)
    if (error !== undefined) this.fail(error, false)
    return isPrinted
  }
}
