import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { drain, duration } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { worstStatus } from '../src/console/exit-codes.js'
import { waitedLine, waitedText } from '../src/console/print/result-line.js'
import { SubstratError } from '../src/errors.js'
import { type WaitRequest, waitForAgents } from '../src/operations/wait.js'
import type { WaitedAgent } from '../src/schema/output.js'
import { type Selection, selectedAgents } from '../src/tree/selection.js'

export default class Wait extends WritingCommand {
  static override strict = false
  static override summary = 'Wait until agents are idle or need a decision, then print their latest replies.'
  static override description =
    'Runs pending turns itself, at most slots_max at a time, unless another process runs them. Prints the agents in the order of the arguments, and exits with the first nonzero status in that order. With --all or --from, prints one line for each agent at the end, and exits with the worst status. An agent that needs a decision has status 5, or 0 with --for waiting. Ctrl-C ends the wait and interrupts the turns that it runs.'
  static override examples = [
    '<%= config.bin %> wait bugs style tests',
    '<%= config.bin %> wait review --for waiting --timeout 1h && <%= config.bin %> approve review',
    '<%= config.bin %> wait --all --timeout 1h',
    '<%= config.bin %> wait review --no-drain --json',
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
      description: 'wait until no agent has anything left to do; with AGENT, only it and all agents below it',
    }),
    from: Flags.option({
      options: ['me'] as const,
      exclusive: ['all'],
      description:
        'me: like --all for the agents that the caller made: at a shell those without a parent, in a turn the children of the agent',
    })(),
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
    if (flags.all || flags.from !== undefined) return this.waitForSelected(agentIds, flags)
    if (agentIds.length === 0)
      throw new SubstratError('USAGE', 'wait needs an agent', {
        hint: 'name agents: substrat wait AGENT; or wait for all: substrat wait --all',
      })
    const request = { agentIds, until: flags.for, drains: flags.drain, timeoutMs: flags.timeout ?? null }
    const ctx = this.lenientContext({})
    await waitForAgents(ctx, request, (waited, failure) => {
      if (waited.wait !== null && 'state' in waited.agent) this.reportWait(waited.wait, waited.agent.id)
      this.printResult(waited, waited.reply === null ? null : waitedText(waited, agentIds), failure)
    })
  }

  private async waitForSelected(
    tops: string[],
    flags: {
      from?: 'me' | undefined
      for: WaitRequest['until']
      drain: boolean
      timeout?: number | undefined
    },
  ): Promise<void> {
    if (flags.from !== undefined && tops.length > 0)
      throw new SubstratError('USAGE', '--from me takes no agents', {
        hint: 'leave out the agents, or wait for them and those below them: substrat wait --all AGENT',
      })
    const store = this.openForRead()
    const selection: Selection = {
      kind: flags.from === undefined ? 'below' : 'own',
      tops,
      caller: this.caller,
    }
    const find = (): string[] => (store === undefined ? [] : selectedAgents(store, selection))
    const agentIds = find()
    if (agentIds.length === 0) {
      this.note('there is no agent to wait for')
      return
    }
    const ended: [WaitedAgent, SubstratError | undefined][] = []
    const { for: until, drain: drains, timeout: timeoutMs = null } = flags
    const request = { agentIds, findAgain: find, until, drains, timeoutMs }
    await waitForAgents(this.lenientContext({}), request, (...each) => void ended.push(each))
    process.exitCode = worstStatus(ended.map(([{ exit }]) => exit))
    for (const [waited, failure] of ended) {
      if (waited.wait !== null && 'state' in waited.agent) this.reportWait(waited.wait, waited.agent.id)
      this.printResult(waited, waitedLine(waited), failure)
    }
  }
}
