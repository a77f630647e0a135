import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { allow, drain, duration, time } from '../src/command/flags.js'
import { checkKey, readMessage } from '../src/command/input.js'
import { refuseInTool } from '../src/dispatch/caller.js'
import { reply } from '../src/operations/reply.js'
import { send } from '../src/operations/send.js'
import { sendAs } from '../src/operations/send-as.js'

export default class Send extends BaseCommand {
  static override summary = 'Send an agent a message, and print its reply.'
  static override description =
    'A turn that was interrupted is finished first. With --key the message is taken once, however often it is sent: a call that is repeated after a crash goes on with that turn, and one that is repeated later gets the same reply, or the same exit status where there was none; --retry takes it anew.'
  static override examples = [
    `<%= config.bin %> send notes 'What is open?'`,
    `<%= config.bin %> send report --key "$(date +%F)" 'Write the daily report.'`,
    'git log -5 | <%= config.bin %> send notes "Summarise:" -',
  ]
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
    message: Args.string({ description: 'the message; - (or none) reads it from stdin', ignoreStdin: true }),
    dash: Args.string({ description: '- appends stdin to MESSAGE', ignoreStdin: true, hidden: true }),
  }
  static override flags = {
    key: Flags.string({
      char: 'k',
      description: 'take this message once: the same key is told the same outcome, whatever became of it',
    }),
    retry: Flags.boolean({
      description:
        'with --key: ask again where that turn failed, was cancelled, ran out of time, or was left behind',
      dependsOn: ['key'],
    }),
    'if-busy': Flags.option({
      options: ['wait', 'queue', 'fail'] as const,
      default: 'wait',
      description: 'when another turn runs: wait for it, leave the message in the inbox, or exit 4',
    })(),
    'if-waiting': Flags.option({
      options: ['supersede', 'fail', 'queue'] as const,
      description:
        'when the agent waits for a decision: take its place (default), exit 5 (default with --key), or leave the message in the inbox',
    })(),
    queue: Flags.boolean({
      description: 'leave the message in the inbox; the reply goes to the inbox of the sender',
    }),
    kind: Flags.option({
      options: ['request', 'notification'] as const,
      default: 'request',
      description: 'a notification goes through the inbox, and is not answered',
    })(),
    'not-before': time({ description: 'through the inbox, delivered then and not earlier' }),
    from: Flags.string({
      description: 'send it for that agent: by the rules of the tree, through the inbox',
    }),
    'reply-to': Flags.string({
      description: 'answer a request that the agent has sent to you, by its id (substrat inbox)',
      exclusive: ['key', 'queue', 'kind', 'not-before', 'from'],
    }),
    drain,
    allow: allow(),
    'max-steps': Flags.integer({ min: 1, description: 'requests to the model in this turn, at most' }),
    timeout: duration({ description: 'how long a busy agent or slot is waited for; default: the setting' }),
    'turn-timeout': duration({ description: 'wall clock of the turn; default: the setting' }),
    stream: Flags.boolean({
      description: 'one JSON line per record, live text marked partial',
      exclusive: ['json'],
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Send)
    const from = flags.from === undefined ? this.caller : this.resolveForWrite(flags.from)
    if (from !== this.caller) refuseInTool(this.caller, 'send in the name of another agent')
    const agentId = this.resolveForWrite(args.agent)
    const request = {
      agentId,
      content: await readMessage(args),
      key: checkKey(flags.key),
      retry: flags.retry,
      ifBusy: flags['if-busy'],
      turnTimeoutMs: flags['turn-timeout'] ?? null,
      // With a key the call may be a repetition: it must not take the place of what waits.
      ifWaiting:
        flags['if-waiting'] ?? (flags.key === undefined ? ('supersede' as const) : ('fail' as const)),
      allow: flags.allow ?? [],
      stepsMax: flags['max-steps'] ?? null,
      isQueued: flags.queue,
      kind: flags.kind,
      notBefore: flags['not-before'] ?? null,
    }
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream, drains: flags.drain })
    const replyTo = flags['reply-to']
    if (replyTo !== undefined) {
      refuseInTool(this.caller, 'answer for the operator')
      await reply(ctx, { agentId, replyTo, content: request.content }, (outcome) => this.report(outcome))
    } else if (from === null) await send(ctx, request, (outcome) => this.report(outcome))
    else await sendAs(ctx, from, request, (outcome) => this.report(outcome))
  }
}
