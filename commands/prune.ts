import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { age, duration } from '../src/command/flags.js'
import { pruneText } from '../src/command/print/prune-text.js'
import { prune } from '../src/operations/prune.js'

export default class Prune extends BaseCommand {
  static override summary = 'Remove agents terminated, and messages delivered, before a given age.'
  static override description =
    'An agent is not removed while it owes an answer, has a pending message, or has a child that stays.'
  static override examples = [
    '<%= config.bin %> prune --older-than 30d --dry-run',
    '@weekly <%= config.bin %> prune --older-than 30d',
  ]
  static override flags = {
    'older-than': age({ required: true, description: 'minimum age since termination or delivery' }),
    'dry-run': Flags.boolean({
      default: false,
      description: 'print what would be removed, and remove nothing',
    }),
    timeout: duration({ description: 'how long to wait for a busy agent; default: setting timeout' }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Prune)
    const pruned = await prune(this.context({ waitMs: flags.timeout }), flags['older-than'], flags['dry-run'])
    this.printObject(pruned, pruneText(pruned))
  }
}
