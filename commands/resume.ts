import * as Flags from '@oclif/core/flags'
import { AskingCommand } from '../src/command/asking-command.js'
import { parseDecision } from '../src/command/decision.js'
import { agent, duration, stream } from '../src/command/flags.js'
import { decide } from '../src/operations/decide.js'
import { resume } from '../src/operations/resume.js'

const decision = ['approve', 'deny', 'input', 'result']
const otherDecisions = (name: string): string[] => decision.filter((other) => other !== name)

export default class Resume extends AskingCommand {
  static override summary = 'Continue an agent that is interrupted, waiting or on hold.'
  static override description =
    `Prints the reply. If there is nothing to continue, says so on stderr and exits 0.
To decide a waiting turn, pass --token and one of --approve, --deny, --input or --result. On this machine, substrat approve and deny need no token. Repeating a decision returns the first outcome.`
  static override examples = [
    '<%= config.bin %> resume notes',
    '<%= config.bin %> resume notes --token - --approve < token',
  ]
  static override args = {
    agent,
  }
  static override flags = {
    token: Flags.string({
      description: 'resume token of the waiting turn; - reads it from stdin',
      env: 'SUBSTRAT_TOKEN',
    }),
    approve: Flags.boolean({
      description: 'approve the pending tool calls',
      exclusive: otherDecisions('approve'),
    }),
    deny: Flags.boolean({
      description: 'deny the pending tool calls; the model receives the denial',
      exclusive: otherDecisions('deny'),
    }),
    input: Flags.string({
      description: "answer the agent's question with this text; - reads it from stdin",
      exclusive: otherDecisions('input'),
    }),
    result: Flags.string({
      description:
        "give the awaited result, or use it as the tool's output instead of running the tool: a file, or - for stdin",
      helpValue: 'FILE',
      exclusive: otherDecisions('result'),
    }),
    failed: Flags.boolean({
      description: 'with --result: the result is an error; default: it is not',
      dependsOn: ['result'],
    }),
    call: Flags.string({
      description: 'with --result: the call that gets it; needed if the agent waits for several',
      helpValue: 'CALL_ID',
      dependsOn: ['result'],
    }),
    reason: Flags.string({
      description: 'with --deny: text that the model receives as the reason',
      dependsOn: ['deny'],
    }),
    reseed: Flags.boolean({
      description:
        "if the agent program has lost its session, start a new one from substrat's log; default: fail",
      exclusive: [...decision, 'token'],
    }),
    timeout: duration({
      description: 'wait this long for a busy agent or a slot; default: the timeout setting',
    }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Resume)
    const agentId = this.resolveForWrite(args.agent)
    const decision = await parseDecision(args.agent, flags)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream, printsReply: true })
    await this.untilDecided(ctx, (onOutcome) =>
      decision === undefined
        ? resume(ctx, agentId, { reseed: flags.reseed }, onOutcome)
        : decide(ctx, { agentId, tokenId: null, ...decision }, onOutcome),
    )
  }
}
