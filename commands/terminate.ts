import * as Args from '@oclif/core/args'
import { BaseCommand } from '../src/command/base.js'
import { duration } from '../src/command/flags.js'
import { terminate } from '../src/dispatch/stop-agent.js'

export default class Terminate extends BaseCommand {
  static override summary = 'End an agent for good; its log stays, its name is free again.'
  static override examples = ['<%= config.bin %> terminate notes']
  static override args = {
    agent: Args.string({ description: 'name, uuid or its beginning', required: true, ignoreStdin: true }),
  }
  static override flags = {
    timeout: duration({ description: 'how long a running turn is waited for; default: the setting' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Terminate)
    const agentId = this.resolveForWrite(args.agent)
    const agent = await terminate(this.context({ waitMs: flags.timeout }), agentId)
    this.printObject({ agent }, `${agent.path} is terminated`)
  }
}
