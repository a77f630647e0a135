import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { outboxText } from '../src/console/print/outbox-text.js'
import { viewOutbox } from '../src/operations/outbox.js'

export default class Outbox extends BaseCommand {
  static override summary = 'Show the notifications and channel replies that are pending or were dropped.'
  static override description =
    'A notification stays pending until its target accepts it, or a rule drops it. substrat deliver --all sends what is due. Takes no lock and writes nothing.'
  static override examples = [
    '<%= config.bin %> outbox',
    '<%= config.bin %> outbox notes --dropped',
    '<%= config.bin %> outbox --json',
  ]
  static override args = {
    agent: Args.string({ description: 'show only those of this agent; default: all', ignoreStdin: true }),
  }
  static override flags = {
    dropped: Flags.boolean({ default: false, description: 'show the dropped ones, with the reason' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Outbox)
    const agentId = args.agent === undefined ? undefined : this.resolveForRead(args.agent).agentId
    const view = viewOutbox(this.openForRead(), { agentId, isDropped: flags.dropped })
    this.printObject(view, outboxText(view))
  }
}
