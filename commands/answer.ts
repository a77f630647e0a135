import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AskingCommand } from '../src/command/asking-command.js'
import { agent, duration, stream } from '../src/command/flags.js'
import { checkKey, readMessage } from '../src/console/input.js'
import { decide } from '../src/operations/decide.js'

export default class Answer extends AskingCommand {
  static override summary = 'Answer the question of a waiting agent and continue its turn.'
  static override description =
    'Prints the reply. On this machine you do not need the resume token; answering revokes it. To see the question, run substrat show AGENT.'
  static override examples = [
    `<%= config.bin %> answer notes 'The blue one.'`,
    '$ git diff | <%= config.bin %> answer notes -',
  ]
  static override args = {
    agent,
    message: Args.string({
      description: 'text of the answer; a final - appends stdin; without text, stdin is the answer',
      ignoreStdin: true,
    }),
    dash: Args.string({ description: 'append stdin to MESSAGE', ignoreStdin: true, hidden: true }),
  }
  static override flags = {
    key: Flags.string({
      char: 'k',
      description: 'answer at most once: repeating a key returns the first outcome',
    }),
    timeout: duration({
      description: 'wait this long for a busy agent or a slot; default: the timeout setting',
    }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Answer)
    const agentId = this.resolveForWrite(args.agent)
    const text = await readMessage(args)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream, printsReply: true })
    const key = checkKey(flags.key)
    const request = { agentId, token: null, tokenId: null, decision: 'input' as const, text, key }
    await this.untilDecided(ctx, (onOutcome) => decide(ctx, request, onOutcome))
  }
}
