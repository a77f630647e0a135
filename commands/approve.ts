import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { agent, duration, stream } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { canAsk } from '../src/console/prompt.js'
import { SubstratError, shellWord } from '../src/errors.js'
import type { CallEdit } from '../src/operations/approved-calls.js'
import { decide } from '../src/operations/decide.js'

interface Choice {
  tokenId?: string
  isDenied: boolean
  edits?: CallEdit[]
}

export default class Approve extends WritingCommand {
  static override summary = 'Approve the pending tool calls of an agent and continue its turn.'
  static override description =
    'Prints the reply. At a terminal, shows the calls and asks first: yes, no, or edit, which opens the arguments in $VISUAL or $EDITOR. On this machine you do not need the resume token; approving revokes it. To see the pending calls, run substrat show AGENT.'
  static override examples = ['<%= config.bin %> approve notes']
  static override args = {
    agent,
    token_id: Args.string({
      description: 'approve only if the agent waits for the token with this id; default: any token',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    always: Flags.boolean({
      description: 'also allow these calls from the next turn on; a command of shell only in these words',
    }),
    edits: Flags.string({
      description:
        'run calls with the arguments in this JSON file, a list of {"call_id", "input"}, or - for stdin; needs TOKEN_ID',
      helpValue: 'FILE',
    }),
    timeout: duration({
      description: 'wait this long for a busy agent or a slot; default: the timeout setting',
    }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Approve)
    const agentId = this.resolveForWrite(args.agent)
    const choice: Choice | undefined =
      flags.edits === undefined
        ? await this.ask(args.agent, agentId)
        : { isDenied: false, edits: await this.readEdits(flags.edits, args.token_id) }
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream, printsReply: true })
    const request = {
      agentId,
      token: null,
      // A person decides only about the calls that the terminal has shown.
      tokenId: args.token_id ?? choice?.tokenId ?? null,
      decision: choice?.isDenied === true ? ('deny' as const) : ('approve' as const),
      text: '',
      always: flags.always && choice?.isDenied !== true,
      ...(choice?.edits === undefined ? {} : { edits: choice.edits }),
    }
    await decide(ctx, request, (outcome) => this.report(outcome))
  }

  private async readEdits(file: string, tokenId: string | undefined): Promise<CallEdit[]> {
    if (tokenId === undefined)
      throw new SubstratError('USAGE', '--edits needs the TOKEN_ID of the wait with these calls', {
        hint: 'copy it from wait.token_id of substrat show AGENT --json',
      })
    const { readEdits } = await import('../src/console/approval.js')
    return readEdits(file)
  }

  /** Undefined without a terminal, or if no call is pending: the operation then says so. */
  private async ask(word: string, agentId: string): Promise<Choice | undefined> {
    if (!canAsk() || this.jsonEnabled()) return undefined
    const store = this.openForRead()
    const [{ pendingCalls }, { askAboutCalls }] = await Promise.all([
      import('../src/operations/pending-calls.js'),
      import('../src/console/approval.js'),
    ])
    const pending = store === undefined ? undefined : pendingCalls(store, agentId)
    if (pending === undefined) return undefined
    const choice = await askAboutCalls(word, pending)
    if (choice !== undefined) return { tokenId: pending.token_id, ...choice }
    throw new SubstratError('WAITING', `nothing was decided; ${word} still waits for approval`, {
      hint: `substrat approve ${shellWord(word)}, or substrat deny ${shellWord(word)}`,
    })
  }
}
