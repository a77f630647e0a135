import * as Flags from '@oclif/core/flags'
import { agent, duration, yes } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { confirmLoss } from '../src/console/confirm.js'
import { remove } from '../src/operations/remove.js'

export default class Remove extends WritingCommand {
  static override summary = 'Delete a terminated agent with its log and files.'
  static override description =
    'Deletion is permanent. Asks first at a terminal, unless --yes or --json is given. An agent stays while it has an unanswered request, a pending message or children, terminated or not. With --recursive its children are deleted first.'
  static override examples = ['<%= config.bin %> remove notes', '<%= config.bin %> remove lead --recursive']
  static override args = {
    agent,
  }
  static override flags = {
    recursive: Flags.boolean({ default: false, description: 'also delete all agents below AGENT' }),
    yes,
    timeout: duration({
      description: 'wait this long for a busy agent; default: the timeout setting',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Remove)
    const agentId = this.resolveForWrite(args.agent)
    if (!flags.yes && !this.jsonEnabled()) await confirmLoss('remove', args.agent, flags.recursive)
    await remove(this.context({ waitMs: flags.timeout }), agentId, flags.recursive, (agent) =>
      this.printEach({ agent }, `${agent.path} is removed`, flags.recursive),
    )
  }
}
