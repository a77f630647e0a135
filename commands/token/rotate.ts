import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../src/command/base.js'
import { duration } from '../../src/command/flags.js'
import { rotateToken } from '../../src/operations/decide.js'

export default class TokenRotate extends BaseCommand {
  static override summary =
    'A new resume token for an agent that waits; the one before is worth nothing any more.'
  static override description = 'Prints the token alone on stdout.'
  static override examples = ['<%= config.bin %> token rotate notes']
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    timeout: duration({ description: 'how long a busy agent is waited for' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(TokenRotate)
    const agentId = this.resolveForWrite(args.agent)
    const { result, secret } = await rotateToken(this.context({ waitMs: flags.timeout }), agentId)
    this.printObject(result, secret)
  }
}
