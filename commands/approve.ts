import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AskingCommand } from '../src/command/asking-command.js'
import { agent, amounts, duration, stream } from '../src/command/flags.js'
import { SubstratError, shellWord } from '../src/errors.js'
import type { CallEdit } from '../src/operations/approved-calls.js'
import { type DecisionRequest, decide } from '../src/operations/decide.js'

type Choice = Pick<DecisionRequest, 'decision' | 'text' | 'always' | 'edits' | 'grant'> & { tokenId?: string }

export default class Approve extends AskingCommand {
  static override summary =
    'Approve the pending tool calls of an agent, or more of its budget, and continue its turn.'
  static override description =
    'Prints the reply. At a terminal, shows the calls and asks first: yes, no, edit, which opens the arguments in your editor, always, as --always does, or later. On this machine you do not need the resume token; approving revokes it. To see the pending calls, run substrat show AGENT.'
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
    add: amounts({
      description:
        'for a turn that waits for a budget: let the agent use this much more, as in tokens=200k,usd=1; the caps over it are not changed',
      exclusive: ['always', 'edits'],
    }),
    once: Flags.boolean({
      description: 'for a turn that waits for a budget: let this turn go on to its end; its use counts',
      exclusive: ['always', 'edits', 'add'],
    }),
    timeout: duration({
      description: 'wait this long for a busy agent or a slot; default: the timeout setting',
    }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Approve)
    const agentId = this.resolveForWrite(args.agent)
    const grant =
      flags.add !== undefined ? { amounts: flags.add } : flags.once ? { once: true as const } : undefined
    const choice: Choice =
      grant !== undefined
        ? { ...APPROVED, grant }
        : flags.edits === undefined
          ? await this.ask(args.agent, agentId, flags.always)
          : { ...APPROVED, always: flags.always, edits: await this.readEdits(flags.edits, args.token_id) }
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream, printsReply: true })
    // A person decides only about the calls that the terminal has shown.
    const request = { agentId, token: null, ...choice, tokenId: args.token_id ?? choice.tokenId ?? null }
    await this.untilDecided(ctx, (onOutcome) => decide(ctx, request, onOutcome))
  }

  private async readEdits(file: string, tokenId: string | undefined): Promise<CallEdit[]> {
    if (tokenId === undefined)
      throw new SubstratError('USAGE', '--edits needs the TOKEN_ID of the wait with these calls', {
        hint: 'copy it from wait.token_id of substrat show AGENT --json',
      })
    const { readEdits } = await import('../src/console/approval.js')
    return readEdits(file)
  }

  /** Without a terminal, or if no call is pending, approves: the operation then says so. */
  private async ask(word: string, agentId: string, always: boolean): Promise<Choice> {
    const store = this.canAsk ? this.openForRead() : undefined
    const { pendingAsk } = await import('../src/operations/pending-calls.js')
    const pending = store === undefined ? undefined : pendingAsk(store, agentId)
    if (pending?.kind !== 'approval') return { ...APPROVED, always }
    const { askAboutCalls } = await import('../src/console/approval.js')
    const choice = await askAboutCalls(pending, { always })
    if (choice !== undefined) return { tokenId: pending.token_id, ...choice }
    throw new SubstratError('WAITING', `nothing was decided; ${word} still waits for approval`, {
      hint: `substrat approve ${shellWord(word)}, or substrat deny ${shellWord(word)}`,
    })
  }
}

const APPROVED = { decision: 'approve', text: '' } as const
