import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { drain, duration } from '../src/command/flags.js'
import { waitedText } from '../src/command/print/result-line.js'
import { waitForAgents } from '../src/operations/wait.js'

export default class Wait extends BaseCommand {
  static override strict = false
  static override summary = 'Wait until agents are at rest, and print their latest replies.'
  static override description =
    'What no other process works on is run here, side by side up to the slots. Prints each agent as it is at rest, in the order of the arguments, and exits with the first status other than 0 in that order. Ctrl-C stops only the wait, and the turns that run in it.'
  static override examples = [
    '<%= config.bin %> wait bugs style tests',
    '<%= config.bin %> wait review --for waiting --timeout 1h && <%= config.bin %> approve review',
    '<%= config.bin %> wait review --no-drain --json',
  ]
  static override args = {
    agent: Args.string({
      description: 'names, paths, uuids or their beginnings',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    for: Flags.option({
      options: ['idle', 'waiting', 'any'] as const,
      default: 'any',
      description:
        'idle: nothing runs or is due, also past a decision of somebody else; waiting: it asks for one; any: at rest in any way',
    })(),
    drain: { ...drain, description: 'run what nobody works on; without it only watch' },
    timeout: duration({ description: 'exit 12 after that; default: wait on' }),
  }

  async run(): Promise<void> {
    const { argv, flags } = await this.parse(Wait)
    const agentIds = [...new Set((argv as string[]).map((word) => this.resolveForWrite(word)))]
    const request = { agentIds, until: flags.for, drains: flags.drain, timeoutMs: flags.timeout ?? null }
    const ctx = this.context({ isLenient: true })
    await waitForAgents(ctx, request, (waited, failure) => {
      if (waited.wait !== null && 'path' in waited.agent) this.reportWait(waited.wait, waited.agent.id)
      this.printResult(waited, waited.reply === null ? null : waitedText(waited, agentIds), failure)
    })
  }
}
