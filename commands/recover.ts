import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { duration } from '../src/command/flags.js'
import { recoveredLine } from '../src/command/print/result-line.js'
import { recover } from '../src/operations/recover.js'

export default class Recover extends BaseCommand {
  static override strict = false
  static override summary = 'Repair and mark what was interrupted, and go on with it.'
  static override description =
    'Safe to run at any time, twice at once, and from cron at boot. Prints a line per agent that it looked at, and exits with the first status other than 0, in the order of those lines.'
  static override examples = [
    '<%= config.bin %> recover --all',
    '@reboot <%= config.bin %> recover --all --json',
  ]
  static override args = {
    agent: Args.string({ description: 'names, uuids or their beginnings', ignoreStdin: true }),
  }
  static override flags = {
    all: Flags.boolean({ default: false, description: 'every agent that may be owed something' }),
    continue: Flags.option({
      options: ['roots', 'all', 'none'] as const,
      default: 'roots',
      description:
        'which agents go on: roots and what works for them, unless that is on hold or needs a person; the others are only repaired and marked',
    })(),
    timeout: duration({ description: 'how long a slot is waited for; default: the setting' }),
  }

  async run(): Promise<void> {
    const { argv, flags } = await this.parse(Recover)
    const words = { all: flags.all, agents: argv as string[] }
    // What it sends for a turn that it marks opens no turn elsewhere either, where nothing is to go on.
    const drains = flags.continue !== 'none'
    const ctx = this.context({ isLenient: true, waitMs: flags.timeout, drains })
    await recover(ctx, words, flags.continue, (recovered, failure, words) =>
      this.printResult(recovered, recoveredLine(recovered, words), failure),
    )
  }
}
