import { AskingCommand } from '../src/command/asking-command.js'
import { agent, duration, stream } from '../src/command/flags.js'
import { retry } from '../src/operations/retry.js'

export default class Retry extends AskingCommand {
  static override summary = 'Repeat the latest turn if it failed, timed out or was cancelled.'
  static override examples = ['<%= config.bin %> retry notes']
  static override args = {
    agent,
  }
  static override flags = {
    timeout: duration({
      description: 'wait this long for a busy agent or a slot; default: the timeout setting',
    }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Retry)
    const agentId = this.resolveForWrite(args.agent)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream, printsReply: true })
    await this.untilDecided(ctx, (onOutcome) => retry(ctx, agentId, onOutcome))
  }
}
