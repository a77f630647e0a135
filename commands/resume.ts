import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { parseDecision } from '../src/command/decision.js'
import { duration, stream } from '../src/command/flags.js'
import { decide } from '../src/operations/decide.js'
import { resume } from '../src/operations/resume.js'

const decision = ['approve', 'deny', 'input', 'result']
const otherDecisions = (name: string): string[] => decision.filter((other) => other !== name)

export default class Resume extends BaseCommand {
  static override summary =
    'Go on with whatever is pending: an interrupted turn, a wait, queued messages, a hold.'
  static override description = `Prints the reply. Exits 0 and prints nothing where nothing is pending.
A turn that waits needs its token (or SUBSTRAT_TOKEN) and a decision. The same decision again is told the same outcome.`
  static override examples = [
    '<%= config.bin %> resume notes',
    '<%= config.bin %> resume notes --token - --approve < token',
  ]
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    token: Flags.string({ description: 'resume token; - reads it from stdin', env: 'SUBSTRAT_TOKEN' }),
    approve: Flags.boolean({ description: 'run what is asked', exclusive: otherDecisions('approve') }),
    deny: Flags.boolean({
      description: 'do not run it; the model is told',
      exclusive: otherDecisions('deny'),
    }),
    input: Flags.string({ description: 'the answer to its question', exclusive: otherDecisions('input') }),
    result: Flags.string({
      description: 'file with the result of the call, got by other means',
      exclusive: otherDecisions('result'),
    }),
    reason: Flags.string({ description: 'why it is denied', dependsOn: ['deny'] }),
    reseed: Flags.boolean({
      description: 'where its program has lost the conversation: begin it anew with what the log has',
      exclusive: [...decision, 'token'],
    }),
    timeout: duration({ description: 'how long a busy agent or slot is waited for; default: the setting' }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Resume)
    const agentId = this.resolveForWrite(args.agent)
    const decision = await parseDecision(args.agent, flags)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream })
    if (decision === undefined)
      await resume(ctx, agentId, { reseed: flags.reseed }, (outcome) => this.report(outcome))
    else await decide(ctx, { agentId, tokenId: null, ...decision }, (outcome) => this.report(outcome))
  }
}
