import * as Args from '@oclif/core/args'
import { BaseCommand } from '../src/command/base.js'
import { drain } from '../src/command/flags.js'
import { setGate } from '../src/operations/gate.js'

export default class Ungate extends BaseCommand {
  static override summary = 'Let a gated agent take turns again, beginning with the messages that wait.'
  static override examples = ['<%= config.bin %> ungate lead/tests']
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = { drain }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Ungate)
    const agentId = this.resolveForWrite(args.agent)
    const result = await setGate(this.context({ drains: flags.drain }), agentId, 'ungate')
    this.printObject(result, `${result.agent.path} ${result.applied ? 'takes' : 'will take'} turns again`)
  }
}
