import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AskingCommand } from '../src/command/asking-command.js'
import { agent, drain, duration, messageFlags, optionsIn, stream, time } from '../src/command/flags.js'
import { checkKey, readMessage } from '../src/console/input.js'
import { refuseInTool } from '../src/dispatch/caller.js'
import type { Context } from '../src/dispatch/context.js'
import type { OnOutcome, Outcome } from '../src/dispatch/outcome.js'
import { deliverMessage } from '../src/operations/message/deliver-message.js'
import type { MessageRequest } from '../src/operations/message/request.js'

export default class Send extends AskingCommand {
  static override summary = 'Send a message to an agent and print its reply.'
  static override description =
    `If the agent has an interrupted turn, send continues it first. It then runs the messages that you queued before, without printing their replies.
With --key the message is delivered at most once. After a crash, repeating the command continues the turn of the message. Repeating it later prints the same reply, or returns the same exit status. Add --retry to run a failed turn again.`
  static override examples = [
    `<%= config.bin %> send notes 'What is open?'`,
    `<%= config.bin %> send report --key "$(date +%F)" 'Write the daily report.'`,
    '$ git log -5 | <%= config.bin %> send notes "Summarise:" -',
  ]
  static override args = {
    agent,
    message: Args.string({
      description: 'message text; a final - appends stdin; without text, stdin is the message',
      ignoreStdin: true,
    }),
    dash: Args.string({ description: 'append stdin to MESSAGE', ignoreStdin: true, hidden: true }),
  }
  static override flags = {
    key: Flags.string({
      char: 'k',
      description: 'deliver at most once: repeating a key returns the first outcome',
    }),
    retry: Flags.boolean({
      description: 'with --key: repeat the turn if it failed, was cancelled, timed out or was abandoned',
      dependsOn: ['key'],
    }),
    'if-busy': Flags.option({
      options: ['wait', 'queue', 'fail'] as const,
      default: 'wait',
      description: 'while the agent runs a turn: wait, queue the message, or exit 4',
    })(),
    'if-waiting': Flags.option({
      options: ['supersede', 'fail', 'queue'] as const,
      description:
        'while the agent waits for a decision: replace its turn, exit 5, or queue the message; default: supersede, with --key: fail',
    })(),
    'if-unknown': Flags.option({
      options: ['stop', 'continue'] as const,
      default: 'stop',
      description:
        'if a crash cut a tool call of the latest turn short and its outcome is unknown: exit 6, or continue that turn',
    })(),
    first: Flags.boolean({
      description: 'overtake the messages that you queued for the agent before; default: they run first',
    }),
    queue: Flags.boolean({
      description: 'queue the message and return; the reply arrives in your inbox',
    }),
    kind: Flags.option({
      options: ['request', 'notification'] as const,
      default: 'request',
      description: 'notification: queue the message and expect no reply',
    })(),
    'not-before': time({
      description: 'queue the message until this time, or for this long',
    }),
    from: Flags.string({
      description: "send in the name of AGENT, into the recipient's inbox; default: you",
    }),
    'reply-to': Flags.string({
      description: "answer the agent's request that has this id, or its beginning (see substrat inbox)",
      exclusive: ['key', 'first', 'queue', 'kind', 'not-before', 'from', ...Object.keys(messageFlags)],
    }),
    drain,
    ...messageFlags,
    timeout: duration({
      description: 'wait this long for a busy agent or a slot; default: the timeout setting',
    }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Send)
    const from = flags.from === undefined ? this.caller : this.resolveForWrite(flags.from)
    if (from !== this.caller) refuseInTool(this.caller, 'send as another agent')
    const agentId = this.resolveForWrite(args.agent)
    const request: MessageRequest = {
      ...optionsIn(flags),
      agentId,
      from,
      content: await readMessage(args),
      key: checkKey(flags.key),
      retry: flags.retry,
      ifBusy: flags['if-busy'],
      // A call with a key may be a repetition, so by default it must not replace a waiting turn.
      ifWaiting: flags['if-waiting'] ?? (flags.key === undefined ? this.defaultForWaiting() : 'fail'),
      ifUnknown: flags['if-unknown'],
      isFirst: flags.first,
      isQueued: flags.queue,
      kind: flags.kind,
      notBefore: flags['not-before'] ?? null,
    }
    const ctx = this.context({
      waitMs: flags.timeout,
      isStream: flags.stream,
      printsReply: true,
      drains: flags.drain,
    })
    const replyTo = flags['reply-to']
    if (replyTo !== undefined) {
      refuseInTool(this.caller, 'answer for the operator')
      const { answerRequest } = await import('../src/operations/message/answer.js')
      await answerRequest(ctx, { agentId, replyTo, content: request.content }, (outcome) =>
        this.report(outcome),
      )
    } else await this.untilDecided(ctx, (onOutcome) => this.sendOrAsk(ctx, request, onOutcome))
  }

  /** Only a person at a terminal is asked: a message from cron replaces the turn, and is never taken for an answer. */
  private defaultForWaiting(): MessageRequest['ifWaiting'] {
    return this.canAsk ? 'ask' : 'supersede'
  }

  /** The person is asked while no lock is held. The answer is only for the wait that the person has seen. */
  private async sendOrAsk(ctx: Context, request: MessageRequest, onOutcome: OnOutcome): Promise<void> {
    let undecided: Outcome | undefined
    await deliverMessage(ctx, request, (outcome) => {
      if (outcome.isUndecided === true) undecided = outcome
      else onOutcome(outcome)
    })
    if (undecided?.result.wait == null) return
    const { agent, wait } = undecided.result
    const { askAboutParked } = await import('../src/console/parked.js')
    const choice = await askAboutParked(agent.path, wait)
    if (choice === 'leave') {
      ctx.reporter.note('the message was not delivered or stored: the turn still waits')
      return this.report(undecided)
    }
    if (choice === 'replace') return deliverMessage(ctx, { ...request, ifWaiting: 'supersede' }, onOutcome)
    const { agentId, content: text } = request
    const { decide } = await import('../src/operations/decide.js')
    await decide(ctx, { agentId, token: null, tokenId: wait.token_id, decision: 'input', text }, onOutcome)
  }
}
