import { agent, drain } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { setGate } from '../src/operations/gate.js'

export default class Ungate extends WritingCommand {
  static override summary = 'Ungate an agent and deliver its pending messages to it.'
  static override examples = ['<%= config.bin %> ungate lead/tests']
  static override args = {
    agent,
  }
  static override flags = { drain }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Ungate)
    const agentId = this.resolveForWrite(args.agent)
    const result = await setGate(this.context({ drains: flags.drain }), agentId, 'ungate')
    this.printObject(result, `${result.agent.path} ${result.applied ? 'is' : 'will be'} ungated`)
  }
}
