import { agent, duration } from '../../src/command/flags.js'
import { WritingCommand } from '../../src/command/writing.js'
import { rotateToken } from '../../src/operations/decide.js'

export default class TokenRotate extends WritingCommand {
  static override summary = 'Replace the resume token of a waiting agent.'
  static override description = 'The previous token stops working. Prints the new token on stdout.'
  static override examples = ['<%= config.bin %> token rotate notes']
  static override args = {
    agent,
  }
  static override flags = {
    timeout: duration({
      description: 'wait this long for a busy agent; default: the timeout setting',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(TokenRotate)
    const agentId = this.resolveForWrite(args.agent)
    const { result, secret } = await rotateToken(this.context({ waitMs: flags.timeout }), agentId)
    this.printObject(result, secret)
  }
}
