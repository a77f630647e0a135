/** One request to a model provider, and its outcome. */
import { limits } from '../../limits.js'
import type {
  ArgumentsError,
  JsonObject,
  ModelEvent,
  ModelProvider,
  ModelRequest,
  ProviderSettings,
  ToolCall,
  ToolDefinition,
} from '../../provider/contract.js'
import { type FailureReport, reportFailure } from '../../provider/failure.js'
import { secretsOf } from '../../provider/secrets.js'
import type { Usage } from '../../schema/types.js'
import type { Session } from '../../session/session.js'
import { conversation, responsesBefore, type Shortened } from '../prompt/history.js'
import { promptOf } from '../prompt/prompt-records.js'
import { endedEarly, Gathered, offContract, shownEvent, type TurnEnds, untilStopped } from './events.js'
import { isDeeperThan } from './levels.js'
import { Items } from './stored.js'

export interface ModelAnswer {
  reply: string
  stop: 'end' | 'length' | 'tool_calls'
  /** The service's word for an end that the provider does not know. */
  incomplete?: string
  usage: Usage | null
  model?: string
  calls: ToolCall[]
  items: JsonObject[]
  /** The service refused the items of earlier responses. */
  itemsRefused: boolean
}

export type ModelOutcome =
  | { outcome: 'answered'; answer: ModelAnswer }
  | ({ outcome: 'failed' } & FailureReport)
  | { outcome: 'stopped'; usage?: Usage; model?: string }

/** Sends the conversation to the model. Throws only if the log cannot be read, which is not the provider's failure. */
export async function askModel(
  session: Session,
  provider: ModelProvider,
  settings: ProviderSettings,
  tools: ToolDefinition[],
  ends: TurnEnds,
  onText: (text: string) => void,
  shortened?: Shortened,
): Promise<ModelOutcome> {
  let unreadable: unknown
  const request: ModelRequest = {
    ...settings,
    prompt: promptOf(session),
    messages: () => {
      try {
        return conversation(session, shortened)
      } catch (error) {
        unreadable = error
        throw error
      }
    },
    responses_before: responsesBefore(session, shortened),
    attempt: session.state.recovery.unanswered_requests,
    tools,
  }
  const outcome = await complete(provider, request, ends, onText)
  // The provider may have caught or wrapped the error.
  if (unreadable !== undefined) throw unreadable
  return outcome
}

/** Sends one request and reads the stream to its end. Never throws. */
export async function complete(
  provider: ModelProvider,
  request: ModelRequest,
  ends: TurnEnds,
  onText: (text: string) => void,
): Promise<ModelOutcome> {
  const gathered = new Gathered()
  const calls: ToolCall[] = []
  const items = new Items()
  let itemsRefused = false
  let hasBegun = false
  try {
    let stop: ModelAnswer['stop'] | undefined
    let incomplete: string | undefined
    for await (const event of untilStopped(provider.complete(request, { signal: ends.signal }), ends)) {
      hasBegun = true
      if (stop !== undefined) throw offContract('an event after its stop')
      if (event?.type === 'text') onText(gathered.add(event.text))
      else if (event?.type === 'tool_call') calls.push(checkCall(event.call, calls))
      else if (event?.type === 'item') items.add(plainObject(event.item))
      else if (event?.type === 'items_refused') itemsRefused = true
      else if (event?.type === 'usage') gathered.countRequest(event)
      else if (event?.type === 'stop' && STOPS.includes(event.reason)) {
        stop = event.reason
        incomplete = incompleteOf(event)
      } else throw offContract(`an event ${shownEvent(event)}`)
    }
    if (stop === undefined) throw endedEarly()
    const { usage = null, ...named } = gathered.used
    const answer = {
      reply: gathered.text,
      stop,
      ...(incomplete === undefined ? {} : { incomplete }),
      usage,
      ...named,
      calls,
      items: items.all,
      itemsRefused,
    }
    return { outcome: 'answered', answer }
  } catch (error) {
    if (ends.signal.aborted) return { outcome: 'stopped', ...gathered.used }
    const report = reportFailure(error, secretsOf(provider, request), gathered.text)
    const begun = hasBegun ? { answer_began: true as const } : {}
    return { outcome: 'failed', ...report, ...begun, ...gathered.used }
  }
}

const STOPS = ['end', 'length', 'tool_calls']

/** Why the response may be incomplete. It is part of the reply's record. */
function incompleteOf({ reason, incomplete }: Extract<ModelEvent, { type: 'stop' }>): string | undefined {
  const word = typeof incomplete === 'string' ? incomplete.slice(0, limits.callNameCharactersMax) : ''
  if (word !== '') return word
  return reason === 'length' ? 'length' : undefined
}

/** Checks a call before it is stored: each later request repeats its id, name and input, and a line of the log holds them. */
function checkCall(call: ToolCall | undefined, earlier: ToolCall[]): ToolCall {
  const { call_id, name } = call ?? ({} as Partial<ToolCall>)
  const input = plainObject(call?.input)
  if (!isWord(call_id) || !isWord(name) || input === undefined)
    throw offContract(`a tool call ${shownEvent(call)}`)
  if (earlier.length === limits.callsMax) throw offContract(`more than ${limits.callsMax} tool calls at once`)
  if (earlier.some((other) => other.call_id === call_id))
    throw offContract(`two tool calls with the id ${call_id}`)
  const { arguments_error: error } = call ?? {}
  return { call_id, name, input, ...(error === undefined ? {} : { arguments_error: checkedError(error) }) }
}

function checkedError({ message, text }: ArgumentsError): ArgumentsError {
  const max = limits.argumentsErrorCharactersMax
  return { message: String(message).slice(0, max), text: String(text).slice(0, max) }
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= limits.callNameCharactersMax
}

/** The value after a round trip through JSON; undefined if it is not a JSON object or has too many levels. */
function plainObject(value: unknown): JsonObject | undefined {
  try {
    const plain = JSON.parse(JSON.stringify(value)) as unknown
    const isObject = typeof plain === 'object' && plain !== null && !Array.isArray(plain)
    return isObject && !isDeeperThan(plain, limits.inputLevelsMax) ? (plain as JsonObject) : undefined
  } catch {
    return undefined
  }
}
