import { agent } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { setGate } from '../src/operations/gate.js'

export default class Gate extends WritingCommand {
  static override summary = 'Stop an agent from starting turns until you ungate it.'
  static override description =
    "A running turn continues to its end. New messages stay in the inbox. The agent's parent can permit one turn at a time with its permit_turn tool. Compare suspend --hold, which resume ends."
  static override examples = ['<%= config.bin %> gate lead/tests']
  static override args = {
    agent,
  }

  async run(): Promise<void> {
    const { args } = await this.parse(Gate)
    const agentId = this.resolveForWrite(args.agent)
    const result = await setGate(this.context(), agentId, 'gate')
    this.printObject(result, `${result.agent.path} ${result.applied ? 'is' : 'will be'} gated`)
  }
}
