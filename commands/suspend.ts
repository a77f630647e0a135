import * as Flags from '@oclif/core/flags'
import { agent, duration } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { type Suspended, suspend } from '../src/operations/stop-agent.js'

export default class Suspend extends WritingCommand {
  static override summary = 'Pause an agent after its current step.'
  static override examples = ['<%= config.bin %> suspend notes', '<%= config.bin %> suspend notes --hold']
  static override args = {
    agent,
  }
  static override flags = {
    hold: Flags.boolean({
      description:
        'also start no new turn until you resume the agent: send exits 13, send --queue stores the message; default: the next message starts a turn',
    }),
    timeout: duration({
      description: 'wait this long for a turn to stop; default: the timeout setting',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Suspend)
    const agentId = this.resolveForWrite(args.agent)
    const suspended = await suspend(this.context({ waitMs: flags.timeout }), agentId, flags.hold)
    this.printObject({ agent: suspended.agent }, suspendedText(suspended))
  }
}

function suspendedText({ agent: { path }, hasTurn, isOnHold }: Suspended): string {
  if (!hasTurn && !isOnHold) return `${path} has no running turn`
  return `${path} is ${[...(hasTurn ? ['suspended'] : []), ...(isOnHold ? ['on hold'] : [])].join(', ')}`
}
