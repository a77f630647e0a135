import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { duration } from '../src/command/flags.js'
import { deliveredLine } from '../src/command/print/result-line.js'
import { deliver, namedAgents } from '../src/operations/deliver.js'

export default class Deliver extends BaseCommand {
  static override strict = false
  static override summary =
    'Give the agents that mail waits for their turns, and go on with what was interrupted.'
  static override description =
    'For cron, or after --no-drain and --queue: agents have their turns side by side, until nothing is due. Safe to run at any time, and twice at once. Prints a line per agent, and exits with the first status other than 0, in the order of those lines.'
  static override examples = [
    '<%= config.bin %> deliver --all',
    '<%= config.bin %> deliver review/tests',
    '* * * * * <%= config.bin %> deliver --all --json',
  ]
  static override args = {
    agent: Args.string({ description: 'names, paths, uuids or their beginnings', ignoreStdin: true }),
  }
  static override flags = {
    all: Flags.boolean({ default: false, description: 'every agent that something may be owed to' }),
    timeout: duration({ description: 'how long a slot is waited for; default: the setting' }),
  }

  async run(): Promise<void> {
    const { argv, flags } = await this.parse(Deliver)
    const agentIds = namedAgents(argv as string[], flags.all, (word) => this.resolveForWrite(word))
    const ctx = this.context({ isLenient: true, waitMs: flags.timeout })
    await deliver(ctx, { all: flags.all, agentIds }, (delivered, failure) =>
      this.printResult(delivered, deliveredLine(delivered), failure),
    )
  }
}
