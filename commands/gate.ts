import * as Args from '@oclif/core/args'
import { BaseCommand } from '../src/command/base.js'
import { setGate } from '../src/operations/gate.js'

export default class Gate extends BaseCommand {
  static override summary = 'Let an agent take no more turns; its messages are kept until ungate.'
  static override description =
    'A turn that runs is not stopped: the gate shuts behind it. Its parent can let single turns through (permit_turn).'
  static override examples = ['<%= config.bin %> gate lead/tests']
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(Gate)
    const agentId = this.resolveForWrite(args.agent)
    const result = await setGate(this.context(), agentId, 'gate')
    this.printObject(result, `${result.agent.path} ${result.applied ? 'is' : 'will be'} gated`)
  }
}
