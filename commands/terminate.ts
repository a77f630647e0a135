import * as Flags from '@oclif/core/flags'
import { agent, drain, duration, yes } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { confirmLoss } from '../src/console/confirm.js'
import { terminate } from '../src/operations/terminate.js'

export default class Terminate extends WritingCommand {
  static override summary = 'End an agent permanently, but keep its log.'
  static override description =
    'Asks first at a terminal, unless --yes or --json is given. A running turn is stopped, and agents that wait for a reply receive an error. The name can be used again. An agent with living children needs --recursive, which terminates the deepest agents first and prints one line for each. If the command is killed, run it again.'
  static override examples = [
    '<%= config.bin %> terminate notes',
    '<%= config.bin %> terminate lead --recursive',
  ]
  static override args = {
    agent,
  }
  static override flags = {
    recursive: Flags.boolean({ default: false, description: 'also terminate all living agents below AGENT' }),
    drain,
    yes,
    timeout: duration({
      description: 'wait this long for a turn to stop; default: the timeout setting',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Terminate)
    const agentId = this.resolveForWrite(args.agent)
    if (!flags.yes && !this.jsonEnabled()) await confirmLoss('terminate', args.agent, flags.recursive)
    const ctx = this.context({ waitMs: flags.timeout, drains: flags.drain })
    await terminate(ctx, agentId, flags.recursive, (agent) =>
      this.printEach({ agent }, `${agent.path} is terminated`, flags.recursive),
    )
  }
}
