import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { duration } from '../src/command/flags.js'
import { resume } from '../src/dispatch/resume.js'

export default class Resume extends BaseCommand {
  static override summary = 'Go on with whatever is pending: an interrupted turn, queued messages, a hold.'
  static override description =
    'Prints the reply of the turn that was interrupted. Exits 0 and prints nothing where nothing is pending.'
  static override examples = ['<%= config.bin %> resume notes']
  static override args = {
    agent: Args.string({ description: 'name, uuid or its beginning', required: true, ignoreStdin: true }),
  }
  static override flags = {
    timeout: duration({ description: 'how long a busy agent or slot is waited for; default: the setting' }),
    stream: Flags.boolean({
      description: 'one JSON line per record, live text marked partial',
      exclusive: ['json'],
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Resume)
    const agentId = this.resolveForWrite(args.agent)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream })
    await resume(ctx, agentId, (outcome) => this.report(outcome))
  }
}
