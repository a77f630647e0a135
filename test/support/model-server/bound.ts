/**
 * Reasoning that is bound to what came before it: the system prompt, the tools and the earlier messages. The server takes it back
 * only if none of these has changed. After it has refused some reasoning, it accepts that response without it.
 */
import { createHash } from 'node:crypto'
import { type Json, objects } from './dialect.js'
import type { Issued } from './reasoning.js'

interface Binding {
  /** The number of messages before the answer. */
  messages: number
  digest: string
}

/** By the signature, data or encryption of the reasoning. */
export type Bindings = Map<string, Binding>

const SEAL = /"(?:signature|data|encrypted_content)":"([^"]+)"/g

/** Remembers the reasoning in the events of an answer. */
export function bind(bindings: Bindings, body: Json, events: string[]): void {
  const messages = messagesOf(body).length
  const digest = digestOf(body, messages)
  for (const seal of events.flatMap(sealsIn)) bindings.set(seal, { messages, digest })
}

/** The reason to refuse the request. The refused reasoning may be missing from now on. */
export function bindingRefusal(bindings: Bindings, body: Json, issued: Issued): string | undefined {
  const refused = messagesOf(body).flatMap((message, at) =>
    sealsIn(JSON.stringify(message)).filter((seal) => {
      const bound = bindings.get(seal)
      return bound !== undefined && (bound.messages > at || bound.digest !== digestOf(body, bound.messages))
    }),
  )
  if (refused.length === 0) return undefined
  for (const [id, parts] of issued)
    if (sealsIn(JSON.stringify(parts)).some((seal) => bindings.has(seal))) issued.delete(id)
  return 'a `thinking` block was created in a different conversation, or the messages before it have changed'
}

function messagesOf({ messages, input }: Json): Json[] {
  return objects(messages ?? input)
}

function digestOf(body: Json, count: number): string {
  const { system, instructions, tools } = body
  const before = { system, instructions, tools, messages: messagesOf(body).slice(0, count) }
  const text = JSON.stringify(before, (name, value) => (name === 'cache_control' ? undefined : value))
  return createHash('sha256').update(text).digest('hex')
}

function sealsIn(text: string): string[] {
  return [...text.matchAll(SEAL)].map(([, seal]) => seal as string)
}
