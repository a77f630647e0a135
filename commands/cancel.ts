import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { drain, duration } from '../src/command/flags.js'
import { cancelAgents } from '../src/operations/cancel.js'

export default class Cancel extends BaseCommand {
  static override summary = 'Stop the turn that an agent is in, or the wait that it is parked in.'
  static override description =
    'The turn ends as cancelled, its tools and their programs with it; its history stays whole, and queued messages stay queued. Whoever stops several wants them at rest: with --all and --recursive nothing is delivered.'
  static override examples = [
    '<%= config.bin %> cancel notes',
    '<%= config.bin %> cancel lead --recursive',
    '<%= config.bin %> cancel --all',
  ]
  static override args = {
    agent: Args.string({ description: 'name, path, uuid or its beginning', ignoreStdin: true }),
  }
  static override flags = {
    all: Flags.boolean({
      default: false,
      description: 'every agent that has a turn',
      exclusive: ['recursive'],
    }),
    recursive: Flags.boolean({ default: false, description: 'and every agent below it that has a turn' }),
    drain,
    timeout: duration({ description: 'how long the turn is waited for' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Cancel)
    const ids = args.agent === undefined ? [] : [this.resolveForWrite(args.agent)]
    const ctx = this.context({
      waitMs: flags.timeout,
      drains: flags.drain && !flags.all && !flags.recursive,
    })
    const agents = await cancelAgents(ctx, { all: flags.all, agents: ids, isRecursive: flags.recursive })
    const lines = agents.map(
      ({ agent, cancelled }) => `${agent.path}: ${cancelled ? 'cancelled' : 'nothing to cancel'}`,
    )
    this.printObject({ agents }, lines.join('\n') || 'nothing to cancel')
  }
}
