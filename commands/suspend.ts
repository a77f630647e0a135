import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { duration } from '../src/command/flags.js'
import { suspend } from '../src/operations/stop-agent.js'

export default class Suspend extends BaseCommand {
  static override summary = 'Bring an agent to rest; a running turn is asked to stop cleanly.'
  static override examples = ['<%= config.bin %> suspend notes', '<%= config.bin %> suspend notes --hold']
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    hold: Flags.boolean({ description: 'and take no turn until it is resumed; messages can be queued' }),
    timeout: duration({ description: 'how long a running turn is waited for; default: the setting' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Suspend)
    const agentId = this.resolveForWrite(args.agent)
    const agent = await suspend(this.context({ waitMs: flags.timeout }), agentId, flags.hold)
    this.printObject({ agent }, `${agent.path} is suspended${flags.hold ? ', on hold' : ''}`)
  }
}
