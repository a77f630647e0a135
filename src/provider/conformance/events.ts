/** What the conformance suite asks of the events of an agent's turn. */
import { limits } from '../../limits.js'
import type { AgentEvent, AgentSession, WaitAsk } from '../contract.js'
import { demand } from './case.js'

type EventOf<T extends AgentEvent['type']> = Extract<AgentEvent, { type: T }>
type TurnEnd = EventOf<'done' | 'wait'>

/** The events of one turn, each of which was found right. The last of them is its end. */
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
  /** Tools by their calls; those that have finished stay, so that no id comes twice. */
  private readonly started = new Map<string, string>()
  private readonly open = new Set<string>()
  private readonly checks: { [T in AgentEvent['type']]: (event: EventOf<T>) => void }

  constructor(session: AgentSession) {
    this.checks = {
      state: (event) => this.state(event),
      text: ({ text }) => demand(typeof text === 'string', 'a piece of text is a string'),
      usage: ({ usage }) =>
        demand(
          [usage?.input_tokens, usage?.output_tokens].every((count) => Number.isInteger(count) && count >= 0),
          `usage is counted in whole tokens: ${JSON.stringify(usage)}`,
        ),
      tool_started: (event) => this.toolStarted(event),
      tool_finished: (event) => this.toolFinished(event),
      note: ({ text }) => demand(typeof text === 'string' && text.trim() !== '', 'a note says something'),
      wait: (event) => {
        demand(
          event.kind === 'approval' || event.kind === 'input',
          `a wait is for approval or input: ${event.kind}`,
        )
        demand(Array.isArray(event.asks) && event.asks.length > 0, 'a wait asks for something')
        for (const ask of event.asks) mustBeCall(ask, 'what a wait asks for')
        demand(typeof session.answer === 'function', 'a session that yields a wait has an answer')
        this.end = event
      },
      done: (event) => {
        demand(typeof event.reply === 'string', 'a reply is a string')
        this.end = event
      },
    }
  }

  take(event: AgentEvent): void {
    const check = this.checks[event.type] as ((event: AgentEvent) => void) | undefined
    demand(check !== undefined, `there is no event ${JSON.stringify(event.type)}`)
    demand(this.end === undefined, 'one done or one wait, at the end')
    check?.(event)
    this.events.push(event)
  }

  finish(): CheckedTurn {
    demand(this.end !== undefined, 'one done or one wait, at the end')
    demand(
      this.open.size === 0,
      `what was started has finished when the turn is done: ${[...this.open].join(', ')}`,
    )
    return { events: this.events, end: this.end as TurnEnd }
  }

  /** What would be lost if the process died now must be out before anything that the conversation is continued from. */
  private state({ state }: EventOf<'state'>): void {
    demand(state instanceof Uint8Array && state.length > 0, 'a state is bytes')
    demand(
      state.length <= limits.providerStateBytesMax,
      `a state has ${limits.providerStateBytesMax} bytes at most: ${state.length}`,
    )
    const isFirst = !this.events.some(({ type }) => type === 'state')
    const late = isFirst ? this.events.find(({ type }) => type !== 'note') : undefined
    demand(
      late === undefined,
      `the first state comes before anything that is done with it: after ${late?.type}`,
    )
  }

  private toolStarted(event: EventOf<'tool_started'>): void {
    mustBeCall(event, 'a tool that is started')
    demand(!this.started.has(event.call_id), `each use of a tool has an id of its own: ${event.call_id}`)
    this.started.set(event.call_id, event.tool)
    this.open.add(event.call_id)
  }

  private toolFinished({ call_id, tool, output, is_error }: EventOf<'tool_finished'>): void {
    demand(this.open.delete(call_id), `what finishes was started, and finishes once: ${call_id}`)
    demand(this.started.get(call_id) === tool, `it finishes by the name by which it was started: ${tool}`)
    demand(
      typeof output === 'string' && typeof is_error === 'boolean',
      'what finished has an output, and an is_error',
    )
  }
}

function mustBeCall({ call_id, tool, input }: WaitAsk, what: string): void {
  demand(typeof call_id === 'string' && call_id !== '', `${what} has an id`)
  demand(typeof tool === 'string' && tool !== '', `${what} has the name of a tool`)
  demand(
    typeof input === 'object' && input !== null && !Array.isArray(input),
    `the input of ${what} is an object: ${JSON.stringify(input)}`,
  )
}
