import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { duration } from '../src/command/flags.js'
import { remove } from '../src/operations/remove.js'

export default class Remove extends BaseCommand {
  static override summary = 'Take a terminated agent away, with its log and everything it kept.'
  static override description =
    'Nothing brings it back. An agent stays while it owes an answer, while a message waits for it, and while there are agents below it, terminated ones too; with --recursive those go first.'
  static override examples = ['<%= config.bin %> remove notes', '<%= config.bin %> remove lead --recursive']
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    recursive: Flags.boolean({ default: false, description: 'and all that are below it' }),
    timeout: duration({ description: 'how long a busy agent is waited for; default: the setting' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Remove)
    const agentId = this.resolveForWrite(args.agent)
    await remove(this.context({ waitMs: flags.timeout }), agentId, flags.recursive, (agent) =>
      this.printEach({ agent }, `${agent.path} is removed`, flags.recursive),
    )
  }
}
