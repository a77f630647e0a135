import * as Args from '@oclif/core/args'
import { BaseCommand } from '../src/command/base.js'
import { duration, stream } from '../src/command/flags.js'
import { decide } from '../src/operations/decide.js'

export default class Approve extends BaseCommand {
  static override summary = 'Let the tools run that an agent waits for, and go on.'
  static override description =
    'For the person at the machine, who needs no token: the one that was handed out is worth nothing afterwards. substrat show says what is asked.'
  static override examples = ['<%= config.bin %> approve notes']
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
    token_id: Args.string({ description: 'only if it waits for this token', ignoreStdin: true }),
  }
  static override flags = {
    timeout: duration({ description: 'how long a busy agent or slot is waited for' }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Approve)
    const agentId = this.resolveForWrite(args.agent)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream })
    const request = {
      agentId,
      token: null,
      tokenId: args.token_id ?? null,
      decision: 'approve' as const,
      text: '',
    }
    await decide(ctx, request, (outcome) => this.report(outcome))
  }
}
