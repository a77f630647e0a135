/** What a case of the conformance suite is, and how it says what does not hold. */
import type { ModelEvent } from './contract.js'

export interface ConformanceCase {
  title: string
  run(): Promise<void>
}

export const MODEL_EVENTS: ModelEvent['type'][] = ['text', 'tool_call', 'usage', 'stop']

export async function collect<T extends { type: string }>(
  stream: AsyncIterable<T>,
  types: T['type'][],
): Promise<T[]> {
  const events: T[] = []
  for await (const event of stream) {
    must(types.includes(event.type), `there is no event ${JSON.stringify(event.type)}`)
    events.push(event)
  }
  return events
}

export function never(): AbortSignal {
  return new AbortController().signal
}

export function one(title: string, run: () => Promise<unknown>): ConformanceCase {
  return {
    title,
    async run() {
      await run()
    },
  }
}

export function must(condition: boolean, sentence: string): void {
  if (!condition) throw new ContractBroken(sentence)
}

export class ContractBroken extends Error {
  constructor(sentence: string) {
    super(`the provider contract does not hold: ${sentence}`)
  }
}
