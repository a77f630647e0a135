import * as Args from '@oclif/core/args'
import { BaseCommand } from '../src/command/base.js'
import { duration, stream } from '../src/command/flags.js'
import { retry } from '../src/operations/retry.js'

export default class Retry extends BaseCommand {
  static override summary = 'Ask again what the latest turn was asked, where that failed or was cancelled.'
  static override examples = ['<%= config.bin %> retry notes']
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    timeout: duration({ description: 'how long a busy agent or slot is waited for' }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Retry)
    const agentId = this.resolveForWrite(args.agent)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream })
    await retry(ctx, agentId, (outcome) => this.report(outcome))
  }
}
