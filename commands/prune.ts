import * as Flags from '@oclif/core/flags'
import { age, duration } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { pruneText } from '../src/console/print/prune-text.js'
import { prune } from '../src/operations/prune.js'

export default class Prune extends WritingCommand {
  static override summary = 'Remove old terminated agents and delivered messages.'
  static override description =
    'An agent stays while it has an unanswered request or a pending message, or while one of its children stays.'
  static override examples = [
    '<%= config.bin %> prune --older-than 30d --dry-run',
    '@weekly <%= config.bin %> prune --older-than 30d',
  ]
  static override flags = {
    'older-than': age({ required: true, description: 'minimum time since the termination or delivery' }),
    'dry-run': Flags.boolean({
      default: false,
      description: 'print what would be removed, and remove nothing',
    }),
    timeout: duration({
      description: 'wait this long for a busy agent; default: the timeout setting',
    }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Prune)
    const pruned = await prune(this.context({ waitMs: flags.timeout }), flags['older-than'], flags['dry-run'])
    this.printObject(pruned, pruneText(pruned))
  }
}
