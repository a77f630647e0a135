/** The types of the conformance suite, and helpers for its cases. */
import { sleep } from '../../clock.js'
import type { ModelEvent, ProviderSettings } from '../contract.js'

export interface ConformanceCase {
  title: string
  run(): Promise<void>
}

export interface ConformanceFixture {
  /** Settings for turns that succeed. */
  settings: ProviderSettings
  /** A prompt that is answered at once; `expected` is a part of the reply. */
  prompt: string
  expected: string
  /**
   * For a model that calls tools. The prompt makes it call the only tool, `look`, with an input that has `place`. `expected` is a
   * part of the reply after the result `blue`.
   */
  tools?: ToolFixture
  /**
   * For a model whose responses have items. Like `tools`, and the response to the prompt has reasoning. `sent` returns the reasoning
   * that the service has sent with its latest response, `received` the reasoning in the latest request to it.
   */
  reasons?: ToolFixture & { sent(): unknown[]; received(): unknown[] }
  /**
   * For an agent that yields `wait`. The prompt makes it ask for approval, unless all tools are allowed. `expected` is in the reply
   * after an approval, and not in the reply after a denial.
   */
  asks?: { settings: ProviderSettings; prompt: string; expected: string }
  /**
   * For an agent whose `inspect` can return `finished`. `fails` is a prompt for a turn that ends in `done` although one of the
   * program's own tools fails. `calls` is a prompt for a turn that calls the tools of `AgentHost.tools` `count` times.
   */
  inspects?: { settings: ProviderSettings; fails?: string; calls?: { prompt: string; count: number } }
  /** True for an agent that keeps a server between turns when `launchServer` is available. */
  keepsServer?: boolean
  /** A prompt for a turn of at least 5 s. After a stop it must end within 3 s, or within `withinMs` for a slow machine. */
  slow?: { settings: ProviderSettings; prompt: string; withinMs?: number }
  /** Settings for turns that fail. */
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

export const MODEL_EVENTS: ModelEvent['type'][] = ['text', 'tool_call', 'item', 'usage', 'stop']

export async function collect<T extends { type: string }>(
  stream: AsyncIterable<T>,
  types: T['type'][],
): Promise<T[]> {
  const events: T[] = []
  for await (const event of stream) {
    demand(types.includes(event.type), `the contract has no event ${JSON.stringify(event.type)}`)
    events.push(event)
  }
  return events
}

export function neverSignal(): AbortSignal {
  return new AbortController().signal
}

/**
 * Gives a turn time to start before it is stopped. It yields to the event loop several times, because after a stall of the
 * machine a single timer could fire before anything else has run.
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
    super(`the provider breaks the contract: ${sentence}`)
  }
}
