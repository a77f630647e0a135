import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { age, duration } from '../src/command/flags.js'
import { prunedText } from '../src/command/print/pruned.js'
import { prune } from '../src/operations/prune.js'

export default class Prune extends BaseCommand {
  static override summary =
    'Take away every agent that was terminated long ago, and messages taken as long ago.'
  static override description =
    'An agent stays while it owes an answer, while a message waits for it, and while an agent below it stays.'
  static override examples = [
    '<%= config.bin %> prune --older-than 30d --dry-run',
    '@weekly <%= config.bin %> prune --older-than 30d',
  ]
  static override flags = {
    'older-than': age({ required: true, description: 'how long ago they ended, at least' }),
    'dry-run': Flags.boolean({ default: false, description: 'only say what would go' }),
    timeout: duration({ description: 'how long a busy agent is waited for; default: the setting' }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Prune)
    const pruned = await prune(this.context({ waitMs: flags.timeout }), flags['older-than'], flags['dry-run'])
    this.printObject(pruned, prunedText(pruned))
  }
}
