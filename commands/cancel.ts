import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { drain, duration } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { cancelAgents } from '../src/operations/cancel.js'

export default class Cancel extends WritingCommand {
  static override summary = 'Cancel the running or waiting turn of an agent.'
  static override description =
    'The turn is marked as cancelled, and its tools and programs are killed. The log stays complete, and queued messages stay queued. An agent without a turn forgets the keys that were refused and never ran. With --all or --recursive, pending messages are not delivered afterwards.'
  static override examples = [
    '<%= config.bin %> cancel notes',
    '<%= config.bin %> cancel lead --recursive',
    '<%= config.bin %> cancel --all',
  ]
  static override args = {
    agent: Args.string({
      description: 'agent name, path (parent/child), UUID or UUID prefix',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    all: Flags.boolean({
      default: false,
      description: 'cancel the turn of every agent; default: only AGENT',
      exclusive: ['recursive'],
    }),
    recursive: Flags.boolean({
      default: false,
      description: 'also cancel the turns of all agents below AGENT',
    }),
    force: Flags.boolean({
      default: false,
      description:
        'kill the substrat process of the turn if it is stopped, or has not ended the turn after 2 s',
    }),
    drain,
    timeout: duration({
      description: 'wait this long for a turn to stop; default: the timeout setting',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Cancel)
    const ids = args.agent === undefined ? [] : [this.resolveForWrite(args.agent)]
    const ctx = this.context({
      waitMs: flags.timeout,
      drains: flags.drain && !flags.all && !flags.recursive,
    })
    const words = { all: flags.all, agents: ids, isRecursive: flags.recursive, isForced: flags.force }
    const agents = await cancelAgents(ctx, words)
    const lines = agents.map(
      ({ agent, cancelled, forgotten = 0 }) => `${agent.path}: ${wordOf(cancelled, forgotten)}`,
    )
    this.printObject({ agents }, lines.join('\n') || 'nothing to cancel')
  }
}

function wordOf(cancelled: boolean, forgotten: number): string {
  if (cancelled) return 'cancelled'
  if (forgotten === 0) return 'nothing to cancel'
  return forgotten === 1 ? 'forgot 1 refusal' : `forgot ${forgotten} refusals`
}
