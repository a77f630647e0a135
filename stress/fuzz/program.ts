/**
 * What a message has an agent do. The model of the fuzzer reads it from the message itself, so that what comes of a
 * message does not depend on which others came before: with kills and without them the same is done, in another order.
 */
import type { JsonObject } from '../../src/provider/contract.js'

export interface Program {
  /** Before each response, in milliseconds. */
  delay?: number
  fail?: 'overloaded' | 'invalid' | 'overflow' | 'rate_limit'
  /** How often the model fails before it answers. */
  times?: number
  /** What a limit says about coming back. */
  retryAfterMs?: number
  /** The calls of each response; then comes the reply. */
  rounds?: Call[][]
  /** Characters that the message and the reply are longer by. */
  pad?: number
}

export interface Call {
  name: string
  input: JsonObject
  /** What the message that it sends has its recipient do. */
  sends?: Program
}

/** A message with a program, as the model finds it. `sent` is told of every message within it, by its id. */
export function messageOf(id: string, program: Program, sent: (id: string, content: string) => void): string {
  let inner = 0
  const written = (call: Call): Omit<Call, 'sends'> => {
    const { name, input, sends } = call
    if (sends === undefined) return { name, input }
    const field = name === 'spawn_agent' ? 'prompt' : 'content'
    return { name, input: { ...input, [field]: messageOf(`${id}.${inner++}`, sends, sent) } }
  }
  const { rounds, pad = 0, ...rest } = program
  const text = JSON.stringify({
    ...rest,
    ...(rounds && { rounds: rounds.map((round) => round.map(written)) }),
    pad,
  })
  const content = pad === 0 ? `#${id} ${text}` : `#${id} ${text}\n${'x'.repeat(pad)}`
  sent(id, content)
  return content
}

/** The id of the message; undefined for what nobody here has written: replies, errors, notices. */
export function idOf(content: string): string | undefined {
  return /^#([\w.]+) \{/.exec(content)?.[1]
}
