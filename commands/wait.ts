import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { drain, duration } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { waitedText } from '../src/console/print/result-line.js'
import { waitForAgents } from '../src/operations/wait.js'

export default class Wait extends WritingCommand {
  static override strict = false
  static override summary = 'Wait until agents are idle or need a decision, then print their latest replies.'
  static override description =
    'Runs pending turns itself, at most slots_max at a time, unless another process runs them. Prints the agents in the order of the arguments, and exits with the first nonzero status in that order. An agent that needs a decision has status 5, or 0 with --for waiting. Ctrl-C ends the wait and interrupts the turns that it runs.'
  static override examples = [
    '<%= config.bin %> wait bugs style tests',
    '<%= config.bin %> wait review --for waiting --timeout 1h && <%= config.bin %> approve review',
    '<%= config.bin %> wait review --no-drain --json',
  ]
  static override args = {
    agent: Args.string({
      description: 'agent names, paths (parent/child), UUIDs or UUID prefixes',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    for: Flags.option({
      options: ['idle', 'waiting', 'any'] as const,
      default: 'any',
      description:
        'idle: no turn is running or pending, and no approval is outstanding; waiting: a decision is needed; any: either',
    })(),
    drain: {
      ...drain,
      description:
        'run pending turns while waiting; --no-drain waits for other processes to run them; default: on',
    },
    timeout: duration({ description: 'exit 12 after this time; default: no limit' }),
  }

  async run(): Promise<void> {
    const { argv, flags } = await this.parse(Wait)
    const agentIds = [...new Set((argv as string[]).map((word) => this.resolveForWrite(word)))]
    const request = { agentIds, until: flags.for, drains: flags.drain, timeoutMs: flags.timeout ?? null }
    const ctx = this.context({ isLenient: true })
    await waitForAgents(ctx, request, (waited, failure) => {
      if (waited.wait !== null && 'state' in waited.agent) this.reportWait(waited.wait, waited.agent.id)
      this.printResult(waited, waited.reply === null ? null : waitedText(waited, agentIds), failure)
    })
  }
}
