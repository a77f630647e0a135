/** Checks the events of an agent's turn. */
import { limits } from '../../limits.js'
import type { AgentEvent, AgentSession, Usage, WaitAsk } from '../contract.js'
import { demand } from './case.js'

type EventOf<T extends AgentEvent['type']> = Extract<AgentEvent, { type: T }>
type TurnEnd = EventOf<'done' | 'wait'>

/** The checked events of one turn. The last is its end. */
export interface CheckedTurn {
  events: AgentEvent[]
  end: TurnEnd
}

export async function checkedTurn(
  session: AgentSession,
  stream: AsyncIterable<AgentEvent>,
): Promise<CheckedTurn> {
  const checker = new TurnChecker(session)
  for await (const event of stream) checker.take(event)
  return checker.finish()
}

class TurnChecker {
  private readonly events: AgentEvent[] = []
  private end: TurnEnd | undefined
  /** Tool names by call id. Finished calls stay, so that no id is used twice. */
  private readonly started = new Map<string, string>()
  private readonly open = new Set<string>()
  private readonly checks: { [T in AgentEvent['type']]: (event: EventOf<T>) => void }

  constructor(session: AgentSession) {
    this.checks = {
      state: (event) => this.state(event),
      text: ({ text }) => demand(typeof text === 'string', 'the text of an event must be a string'),
      usage: ({ usage }) => mustBeUsage(usage),
      tool_started: (event) => this.toolStarted(event),
      tool_finished: (event) => this.toolFinished(event),
      note: ({ text }) => demand(typeof text === 'string' && text.trim() !== '', 'a note must not be empty'),
      output: ({ stream, text }) => {
        demand(stream === 'stdout' || stream === 'stderr', `output has the stream ${JSON.stringify(stream)}`)
        demand(typeof text === 'string', 'the text of output must be a string')
      },
      wait: (event) => {
        demand(
          event.kind === 'approval' || event.kind === 'input',
          `the kind of a wait must be approval or input: ${event.kind}`,
        )
        demand(Array.isArray(event.asks) && event.asks.length > 0, 'a wait must have at least one ask')
        for (const ask of event.asks) mustBeCall(ask, 'an ask of a wait')
        demand(typeof session.answer === 'function', 'a session that yields a wait must have answer')
        this.end = event
      },
      done: (event) => {
        demand(typeof event.reply === 'string', 'a reply must be a string')
        this.end = event
      },
    }
  }

  take(event: AgentEvent): void {
    const check = this.checks[event.type] as ((event: AgentEvent) => void) | undefined
    demand(check !== undefined, `the contract has no event ${JSON.stringify(event.type)}`)
    demand(this.end === undefined, 'a turn must end with its only done or wait')
    check?.(event)
    this.events.push(event)
  }

  finish(): CheckedTurn {
    demand(this.end !== undefined, 'a turn must end with its only done or wait')
    demand(
      this.open.size === 0,
      `every started tool must finish before the turn ends: ${[...this.open].join(', ')}`,
    )
    return { events: this.events, end: this.end as TurnEnd }
  }

  /** The first state must come before any other event except a note: after a crash, the session is restored from it. */
  private state({ state }: EventOf<'state'>): void {
    demand(state instanceof Uint8Array && state.length > 0, 'a state must be a nonempty Uint8Array')
    demand(
      state.length <= limits.providerStateBytesMax,
      `a state must have at most ${limits.providerStateBytesMax} bytes: ${state.length}`,
    )
    const isFirst = !this.events.some(({ type }) => type === 'state')
    const late = isFirst ? this.events.find(({ type }) => type !== 'note') : undefined
    demand(late === undefined, `the first state must come before other events, but came after ${late?.type}`)
  }

  private toolStarted(event: EventOf<'tool_started'>): void {
    mustBeCall(event, 'a started tool')
    demand(!this.started.has(event.call_id), `each tool call must have its own id: ${event.call_id}`)
    this.started.set(event.call_id, event.tool)
    this.open.add(event.call_id)
  }

  private toolFinished({ call_id, tool, output, is_error }: EventOf<'tool_finished'>): void {
    demand(this.open.delete(call_id), `a tool must finish once, after it has started: ${call_id}`)
    demand(
      this.started.get(call_id) === tool,
      `a tool must finish under the name with which it started: ${tool}`,
    )
    demand(
      typeof output === 'string' && typeof is_error === 'boolean',
      'tool_finished must have output and is_error',
    )
  }
}

function mustBeCall({ call_id, tool, input }: WaitAsk, what: string): void {
  demand(typeof call_id === 'string' && call_id !== '', `${what} must have an id`)
  demand(typeof tool === 'string' && tool !== '', `${what} must have the name of a tool`)
  demand(
    typeof input === 'object' && input !== null && !Array.isArray(input),
    `the input of ${what} must be an object: ${JSON.stringify(input)}`,
  )
}

/** The parts of a usage must be within its whole. */
function mustBeUsage(usage: Usage): void {
  const { input_tokens, output_tokens, cache_read_tokens = 0, cache_write_tokens = 0 } = usage ?? {}
  const { reasoning_tokens = 0, cost_usd = 0 } = usage ?? {}
  const counts = [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens]
  demand(
    counts.every((count) => Number.isInteger(count) && count >= 0),
    `usage must have whole numbers of tokens: ${JSON.stringify(usage)}`,
  )
  demand(
    cache_read_tokens + cache_write_tokens <= input_tokens && reasoning_tokens <= output_tokens,
    `cached tokens are part of input_tokens, and reasoning_tokens of output_tokens: ${JSON.stringify(usage)}`,
  )
  demand(cost_usd >= 0, `cost_usd must be an amount: ${JSON.stringify(usage)}`)
}
