import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { duration, stream } from '../src/command/flags.js'
import { decide } from '../src/operations/decide.js'

export default class Deny extends BaseCommand {
  static override summary = 'Refuse the tools that an agent waits for; it is told so, and goes on.'
  static override examples = [`<%= config.bin %> deny notes --reason 'Not on a Friday.'`]
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
    token_id: Args.string({ description: 'only if it waits for this token', ignoreStdin: true }),
  }
  static override flags = {
    reason: Flags.string({ description: 'told to the model', default: '' }),
    timeout: duration({ description: 'how long a busy agent or slot is waited for' }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Deny)
    const agentId = this.resolveForWrite(args.agent)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream })
    const request = {
      agentId,
      token: null,
      tokenId: args.token_id ?? null,
      decision: 'deny' as const,
      text: flags.reason,
    }
    await decide(ctx, request, (outcome) => this.report(outcome))
  }
}
