import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AskingCommand } from '../src/command/asking-command.js'
import { agent, duration, stream } from '../src/command/flags.js'
import { decide } from '../src/operations/decide.js'

export default class Deny extends AskingCommand {
  static override summary =
    'Deny the pending tool calls of an agent and continue its turn; or, if it waits for a budget, end it.'
  static override examples = [`<%= config.bin %> deny notes --reason 'Not on a Friday.'`]
  static override args = {
    agent,
    token_id: Args.string({
      description: 'deny only if the agent waits for the token with this id; default: any token',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    reason: Flags.string({
      description: 'text that the model receives as the reason; default: none',
      default: '',
    }),
    timeout: duration({
      description: 'wait this long for a busy agent or a slot; default: the timeout setting',
    }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Deny)
    const agentId = this.resolveForWrite(args.agent)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream, printsReply: true })
    const request = {
      agentId,
      token: null,
      tokenId: args.token_id ?? null,
      decision: 'deny' as const,
      text: flags.reason,
    }
    await this.untilDecided(ctx, (onOutcome) => decide(ctx, request, onOutcome))
  }
}
