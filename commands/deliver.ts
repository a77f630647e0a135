import { join } from 'node:path'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AskingCommand } from '../src/command/asking-command.js'
import { duration } from '../src/command/flags.js'
import { deliveredLine } from '../src/console/print/result-line.js'
import { stderr } from '../src/console/stdio.js'
import { workOnDeliveries } from '../src/dispatch/delivery-workers.js'
import type { SubstratError } from '../src/errors.js'
import { isSameFile } from '../src/files/user-files.js'
import { deliver, namedAgents } from '../src/operations/deliver.js'
import type { DeliveredAgent } from '../src/schema/output.js'

export default class Deliver extends AskingCommand {
  static override strict = false
  static override summary = 'Deliver pending mail and continue interrupted turns.'
  static override description =
    'Run it from cron, or after a command with --no-drain or --queue. Agents run in parallel until none has a pending turn. You can run it at any time, even twice at once. Prints one line per agent. Exits with the first nonzero status among those lines, otherwise with 0.'
  static override examples = [
    '<%= config.bin %> deliver --all',
    '<%= config.bin %> deliver review/tests',
    '* * * * * <%= config.bin %> deliver --all --json',
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
      description: 'run every agent that has pending mail or an interrupted turn',
    }),
    timeout: duration({
      description: 'wait this long for a free slot; default: the timeout setting',
    }),
    worker: Flags.boolean({ hidden: true, description: 'deliver for the command that started this one' }),
  }

  async run(): Promise<void> {
    const { argv, flags } = await this.parse(Deliver)
    if (flags.worker)
      return workOnDeliveries(this.context({ isLenient: true, isWorker: true, sendsPending: true }))
    const agentIds = namedAgents(argv as string[], flags.all, (word) => this.resolveForWrite(word))
    const ctx = this.lenientContext({ waitMs: flags.timeout, sendsPending: true })
    const request = { all: flags.all, agentIds, script: this.script }
    const print = (delivered: DeliveredAgent, failure: SubstratError | undefined): void =>
      this.printResult(delivered, deliveredLine(delivered), failure)
    if (agentIds.length !== 1 || !this.asksHere) await deliver(ctx, request, print)
    else {
      const { deliverAndAsk } = await import('../src/command/deliver-and-ask.js')
      await deliverAndAsk(ctx, request, print)
    }
  }

  /** To start workers with. Undefined at a terminal, because workers draw nothing, and for a program that contains substrat. */
  private get script(): string | undefined {
    const script = join(this.config.root, 'bin/run.js')
    const isOwnProcess = process.argv[1] !== undefined && isSameFile(process.argv[1], script)
    return isOwnProcess && !stderr.isTTY ? script : undefined
  }
}
