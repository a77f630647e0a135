/** What a case of the conformance suite is, what it needs to be given, and how it says what does not hold. */
import { sleep } from '../../clock.js'
import type { ModelEvent, ProviderSettings } from '../contract.js'

export interface ConformanceCase {
  title: string
  run(): Promise<void>
}

export interface ConformanceFixture {
  /** Settings with which a turn succeeds. */
  settings: ProviderSettings
  /** A prompt that is answered at once, and what the reply must contain. */
  prompt: string
  expected: string
  /**
   * For a model that calls tools: a prompt that it answers with a call of the one tool `look`, whose input has `place`,
   * and what its reply must contain once the result says `blue`.
   */
  tools?: ToolFixture
  /**
   * For an agent that asks for a person: a prompt with which it asks, unless all is allowed, and what its reply has once
   * what it asked for was approved, and has not where it was denied.
   */
  asks?: { settings: ProviderSettings; prompt: string; expected: string }
  /**
   * For an agent whose `inspect` may say `finished`. `fails`: a prompt for a turn in which a tool of the program itself
   * fails, and which is done all the same. `calls`: one for a turn that calls the tools of `AgentHost.tools` so often.
   */
  inspects?: { settings: ProviderSettings; fails?: string; calls?: { prompt: string; count: number } }
  /** For an agent whose server is kept between its turns, where `launchServer` is offered. */
  keepsServer?: boolean
  /**
   * A prompt whose turn takes at least 5 s, to be stopped. It must end within 3 s; `withinMs` allows more, for a machine
   * that may be slow.
   */
  slow?: { settings: ProviderSettings; prompt: string; withinMs?: number }
  /** Settings with which every turn fails. */
  failing?: ProviderSettings
  /** A prompt that the model refuses to answer. */
  refuses?: { settings: ProviderSettings; prompt: string }
  /** Settings that `check` refuses. */
  refused?: ProviderSettings
}

export interface ToolFixture {
  settings: ProviderSettings
  prompt: string
  expected: string
}

export const MODEL_EVENTS: ModelEvent['type'][] = ['text', 'tool_call', 'usage', 'stop']

export async function collect<T extends { type: string }>(
  stream: AsyncIterable<T>,
  types: T['type'][],
): Promise<T[]> {
  const events: T[] = []
  for await (const event of stream) {
    demand(types.includes(event.type), `there is no event ${JSON.stringify(event.type)}`)
    events.push(event)
  }
  return events
}

export function neverSignal(): AbortSignal {
  return new AbortController().signal
}

/**
 * What a turn that is about to be stopped has to begin in: looks at the event loop, and no bare time, of which a machine
 * that is held up makes none.
 */
export async function moment(ended: Promise<unknown>): Promise<void> {
  let isOver = false
  const finish = (): void => {
    isOver = true
  }
  ended.then(finish, finish)
  for (let looks = 0; looks < 30 && !isOver; looks++) await sleep(10)
}

export function caseOf(title: string, run: () => Promise<unknown>): ConformanceCase {
  return {
    title,
    async run() {
      await run()
    },
  }
}

export function demand(condition: boolean, sentence: string): void {
  if (!condition) throw new ContractBroken(sentence)
}

export class ContractBroken extends Error {
  constructor(sentence: string) {
    super(`the provider contract does not hold: ${sentence}`)
  }
}
