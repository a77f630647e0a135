import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { duration } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { recoveredLine } from '../src/console/print/result-line.js'
import { recover } from '../src/operations/recover.js'

export default class Recover extends WritingCommand {
  static override strict = false
  static override summary = 'Repair agents after a crash and continue their turns.'
  static override description =
    'You can run it at any time, even twice at once, and from cron at boot. Prints one line per agent. Exits with the first nonzero status among those lines, otherwise with 0.'
  static override examples = [
    '<%= config.bin %> recover --all',
    '@reboot <%= config.bin %> recover --all --json',
    '<%= config.bin %> recover --host-gone web-2',
  ]
  static override args = {
    agent: Args.string({
      description: 'agent names, paths (parent/child), UUIDs or UUID prefixes',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    all: Flags.boolean({
      default: false,
      description: 'recover every agent that has unfinished work; default: only the named agents',
    }),
    continue: Flags.option({
      options: ['roots', 'all', 'none'] as const,
      default: 'roots',
      description:
        'which agents to continue; the others are only repaired. roots: agents without a parent, and the agents that work for them',
    })(),
    'host-gone': Flags.string({
      helpValue: 'HOST',
      description:
        'declare that every process of HOST is dead, and continue its turns. HOST is a host name or host id, as recover and show print it. First make sure that HOST is down. Without AGENT, it implies --all',
    }),
    timeout: duration({
      description: 'wait this long for a free slot; default: the timeout setting',
    }),
  }

  async run(): Promise<void> {
    const { argv, flags } = await this.parse(Recover)
    const words = { all: flags.all, agents: argv as string[], hostGone: flags['host-gone'] }
    // With `none`, a message that recovery sends must not start a turn of its recipient.
    const drains = flags.continue !== 'none'
    const ctx = this.lenientContext({ waitMs: flags.timeout, drains, sendsPending: true })
    await recover(ctx, words, flags.continue, (recovered, failure, words) =>
      this.printResult(recovered, recoveredLine(recovered, words), failure),
    )
  }
}
