import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { duration } from '../src/command/flags.js'
import { cancelAgents } from '../src/dispatch/cancel.js'

export default class Cancel extends BaseCommand {
  static override summary = 'Stop the turn that an agent is in, or the wait that it is parked in.'
  static override description =
    'The turn ends as cancelled, its tools and their programs with it; its history stays whole, and queued messages stay queued.'
  static override examples = ['<%= config.bin %> cancel notes', '<%= config.bin %> cancel --all']
  static override args = {
    agent: Args.string({ description: 'name, uuid or its beginning', ignoreStdin: true }),
  }
  static override flags = {
    all: Flags.boolean({ default: false, description: 'every agent that has a turn' }),
    timeout: duration({ description: 'how long the turn is waited for' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Cancel)
    const ctx = this.context({ waitMs: flags.timeout })
    const agents = await cancelAgents(ctx, {
      all: flags.all,
      agents: args.agent === undefined ? [] : [args.agent],
    })
    const lines = agents.map(
      ({ agent, cancelled }) => `${agent.path}: ${cancelled ? 'cancelled' : 'nothing to cancel'}`,
    )
    this.printObject({ agents }, lines.join('\n') || 'nothing to cancel')
  }
}
