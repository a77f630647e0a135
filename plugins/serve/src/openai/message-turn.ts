/**
 * One message of a client: the ordinary `send`, in a process of its own. It says when the message is durable, and how its turn
 * ended. Neither depends on the client or on this server.
 */
import { randomUUID } from 'node:crypto'
import type { OUTPUTS } from 'substrat/outputs'
import type { z } from 'zod'
import { type Coded, FaceError } from '../../../shared/src/face/face-error.js'
import { follow, isRunOfKey } from '../../../shared/src/face/follow.js'
import type { StreamLine } from '../../../shared/src/face/output.js'
import type { Store } from '../core.js'
import type { Server } from '../server.js'
import { MessageError } from './failure.js'

type TurnResult = z.output<(typeof OUTPUTS)['send']>
type Wait = NonNullable<TurnResult['wait']>

export interface Ended {
  reply: string
  usage: NonNullable<TurnResult['run']>['usage']
}

export interface Message {
  content: string
  /** The `Idempotency-Key` of the request. Without one, an equal message is another message. */
  key: string | null
}

export interface Recipient {
  server: Server
  store: Store
  agentId: string
  /** For messages to the client. */
  path: string
}

export class MessageTurn {
  /** The latest run of the turn. Undefined until the message is durable. */
  run: { id: string; startedAt: string } | undefined
  /** Rejects if the message was refused or its turn has no reply. */
  readonly ended: Promise<Ended>
  private readonly durable: Promise<unknown>

  /** `onLine` receives the lines of this turn, also if another command of this server runs it. */
  constructor(
    private readonly to: Recipient,
    private readonly message: Message,
    onLine: (line: StreamLine) => void = () => undefined,
  ) {
    const { server, store, agentId } = to
    const { content, key: given } = message
    const key = given ?? `serve-${randomUUID()}`
    const known =
      given === null
        ? undefined
        : server.core.runOfMessage(store, agentId, { key: key.normalize('NFC'), content })
    if (known === undefined) refuseBusy(to)
    else this.run = { id: known.run_id, startedAt: known.started_at }
    const unwatch = server.commands.watch((line) => {
      if (line.agent !== agentId || this.run === undefined) return
      if (line.continues === this.run.id && line.run_id !== undefined) this.run.id = line.run_id
      if (line.run_id === this.run.id) onLine(line)
    })
    const { first, begun } = follow(
      server.commands,
      [
        'send',
        agentId,
        '-',
        `--key=${key}`,
        '--if-waiting=fail',
        // The turn of a repeated key may take as long as it needs.
        ...(known === undefined ? [] : ['--timeout=24d']),
      ],
      {
        input: `${content}\n`,
        isOurs: isRunOfKey(server.core, () => store, { agentId, key }),
        onLine: (line) => {
          if (this.run !== undefined) return
          this.run = { id: line.run_id as string, startedAt: line.ts as string }
          onLine(line)
        },
      },
    )
    this.ended = first.then(({ result, error }) => {
      unwatch()
      try {
        if (error !== undefined) throw error
        return this.replyOf(result as TurnResult)
      } catch (error) {
        throw this.errorOf(error as Coded)
      }
    })
    this.durable = known === undefined ? Promise.race([begun, this.ended]) : Promise.resolve()
    // A caller may await only one of the two, so neither rejection may be unhandled.
    this.ended.catch(() => undefined)
    this.durable.catch(() => undefined)
  }

  /** Waits until the message is durable. Throws if it was refused. */
  async begun(): Promise<{ id: string; startedAt: string }> {
    await this.durable
    return this.run as { id: string; startedAt: string }
  }

  /** Also for a server that stops before the turn has ended. */
  errorOf(error: Coded): MessageError {
    const mayBeDurable = this.run !== undefined || !UNTAKEN.has(error.code)
    const { code, message, facts = {} } = error
    const told = { code, message, facts, hint: this.withoutFlags(error.hint ?? null) }
    return new MessageError(told, this.message.key !== null || !mayBeDurable)
  }

  /** The command names flags by which it would wait or queue the message. A request of this API has no such fields. */
  private withoutFlags(hint: string | null): string | null {
    const parts = hint?.split('; ') ?? []
    const others = parts.filter((part) => /\bsubstrat [a-z]/.test(part) || !/--[a-z]/.test(part))
    return others.length === parts.length ? hint : [...others, `or ${queueCommand(this.to)}`].join('; ')
  }

  /** The reply exists later. */
  get later(): string {
    return this.message.key === null
      ? `see its reply: substrat show ${this.to.server.core.shellWord(this.to.path)}`
      : 'its reply comes when you repeat the request with the same Idempotency-Key'
  }

  private replyOf({ run, reply, wait }: TurnResult): Ended {
    if (wait !== null) throw this.waiting(wait)
    if (run?.status === 'completed') {
      this.run = { id: run.id, startedAt: run.started_at }
      return { reply: reply ?? '', usage: run.usage }
    }
    throw FaceError.of({
      code: 'INTERRUPTED',
      message: `the turn of ${this.to.path} was interrupted`,
      hint: `continue it: substrat resume ${this.to.server.core.shellWord(this.to.path)}`,
    })
  }

  /** In plain words: a chat shows them to a person. */
  private waiting(wait: Wait): FaceError {
    const { path, server } = this.to
    const { core } = server
    const word = core.shellWord(path)
    const isEarlier = this.run === undefined
    const [start, end] = isEarlier
      ? ['an earlier turn of', 'then send the message again: it was not delivered']
      : ['the turn of', this.later]
    if (wait.kind === 'not_before')
      return FaceError.of({
        code: 'NOT_BEFORE',
        message: `${start} ${path} waits for a rate limit until ${wait.not_before}`,
        hint: `continue it then: substrat resume ${word}; ${end}`,
      })
    const asked = wait.asks.map((ask) => `it ${core.askText(wait, ask).join(' ')}`)
    const ids = wait.asks.flatMap(({ call_id }) => (call_id === undefined ? [] : [call_id]))
    const commands = core.decisionCommands(word, { kind: wait.kind, call_ids: ids })
    return FaceError.of({
      code: 'WAITING',
      message: `${start} ${path} waits for a person: ${asked.join(', ')}`,
      hint: `decide on the page of the server or with: ${commands}; ${end}`,
    })
  }
}

/** With these errors and no record, a command has not delivered its message. */
const UNTAKEN = new Set(['LOCKED', 'NO_SLOT', 'OUTCOME_UNKNOWN', 'SERVER_BUSY'])

/** At once: a client that talks to a person should not wait silently for the turn of another. */
function refuseBusy({ server, store, agentId, path }: Recipient): void {
  const { agent, run } = server.core.showAgent(store, agentId)
  if (agent.status !== 'running' || run?.status !== 'open') return
  throw FaceError.of({
    code: 'LOCKED',
    message: `${path} runs a turn; the message was not delivered`,
    hint: `send it again when the turn has ended, or ${queueCommand({ server, path })}`,
  })
}

function queueCommand({ server, path }: Pick<Recipient, 'server' | 'path'>): string {
  return `queue it: substrat send ${server.core.shellWord(path)} --queue '…'`
}
