import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { since } from '../src/command/flags.js'
import { terminalColumns } from '../src/console/print/hanging.js'
import { usageText } from '../src/console/print/usage-text.js'
import { SubstratError, shellWord } from '../src/errors.js'
import { damageIn, viewUsage } from '../src/operations/usage.js'

export default class Usage extends BaseCommand {
  static override summary = 'Show the tokens and costs of agents.'
  static override description =
    'Input includes what a cache read (CACHED) and wrote (WRITTEN), and output includes reasoning. A cost is only what the provider reported: substrat knows no prices. With --by model, a turn counts in the row of each model that it used. Removed agents count with --all, and with --since by whole days. Takes no lock and writes nothing.'
  static override examples = [
    '<%= config.bin %> usage',
    '<%= config.bin %> usage notes --by model',
    '<%= config.bin %> usage --all --since 7d --by day --json',
  ]
  static override args = {
    agent: Args.string({
      description: 'count only this agent; default: all that are not terminated',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    tree: Flags.string({ helpValue: 'AGENT', description: 'count only this agent and those below it' }),
    all: Flags.boolean({ default: false, description: 'also count terminated and removed agents' }),
    since: since({ description: 'count only from this time or age on; default: everything' }),
    by: Flags.string({
      options: ['agent', 'model', 'day', 'schedule'] as const,
      default: 'agent',
      description: 'one row for each agent, model, day in UTC, or schedule',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Usage)
    if (args.agent !== undefined && flags.tree !== undefined)
      throw new SubstratError('USAGE', 'name the agent either alone or with --tree', {
        hint: `count it with the agents below it: substrat usage --tree ${shellWord(args.agent)}`,
      })
    const agentId = args.agent === undefined ? undefined : this.resolveForRead(args.agent).agentId
    const treeOf = flags.tree === undefined ? undefined : this.resolveForRead(flags.tree).agentId
    const by = flags.by as 'agent' | 'model' | 'day' | 'schedule'
    const request = { agentId, treeOf, all: flags.all, since: flags.since ?? null, by }
    const used = viewUsage(this.openForRead(), request)
    this.printObject(used, usageText(used, terminalColumns()))
    const damage = damageIn(used)
    if (damage !== undefined) this.fail(damage, false)
  }
}
