import * as Args from '@oclif/core/args'
import { BaseCommand } from '../src/command/base.js'
import { agent, duration, stream } from '../src/command/flags.js'
import { decide } from '../src/operations/decide.js'

export default class Approve extends BaseCommand {
  static override summary = 'Approve the pending tool calls of an agent and continue its turn.'
  static override description =
    'Prints the reply. On this machine you do not need the resume token; approving revokes it. To see the pending calls, run substrat show AGENT.'
  static override examples = ['<%= config.bin %> approve notes']
  static override args = {
    agent,
    token_id: Args.string({
      description: 'approve only if the agent waits for the token with this id; default: any token',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    timeout: duration({
      description: 'wait this long for a busy agent or a slot; default: the timeout setting',
    }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Approve)
    const agentId = this.resolveForWrite(args.agent)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream, printsReply: true })
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
