/**
 * The work that a message asks for. The model of the fuzzer reads it from the message itself, so the effect of a
 * message does not depend on the messages before it. With kills or without, the same work is done, possibly in another
 * order.
 */
import type { JsonObject } from '../../src/provider/contract.js'

export interface Program {
  /** The pause before each response, in milliseconds. */
  delay?: number
  fail?: 'overloaded' | 'invalid' | 'overflow' | 'rate_limit'
  /** How often the model fails before it answers. */
  times?: number
  /** The retry-after of a rate limit. */
  retryAfterMs?: number
  /** The tool calls of each response. The reply follows the last round. */
  rounds?: Call[][]
  /** Characters added to the message and to the reply. */
  pad?: number
}

export interface Call {
  name: string
  input: JsonObject
  /** The program of the message that this call sends. */
  sends?: Program
}

/** The message text that carries a program. `sent` is called with the id and content of every message within it. */
export function messageOf(id: string, program: Program, sent: (id: string, content: string) => void): string {
  let inner = 0
  const inputOf = (call: Call): Omit<Call, 'sends'> => {
    const { name, input, sends } = call
    if (sends === undefined) return { name, input }
    const field = name === 'spawn_agent' ? 'prompt' : 'content'
    return { name, input: { ...input, [field]: messageOf(`${id}.${inner++}`, sends, sent) } }
  }
  const { rounds, pad = 0, ...rest } = program
  const text = JSON.stringify({
    ...rest,
    ...(rounds && { rounds: rounds.map((round) => round.map(inputOf)) }),
    pad,
  })
  const content = pad === 0 ? `#${id} ${text}` : `#${id} ${text}\n${'x'.repeat(pad)}`
  sent(id, content)
  return content
}

/** The id of the message; undefined for text that the fuzzer did not write: replies, errors, notices. */
export function idOf(content: string): string | undefined {
  return /^#([\w.]+) \{/.exec(content)?.[1]
}
