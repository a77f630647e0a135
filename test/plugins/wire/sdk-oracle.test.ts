/**
 * The clients of OpenAI and Anthropic as an oracle: they read the same bytes of a valid answer as the providers do, without a
 * network. Their packages on npm have these readers, but no recorded streams.
 */
import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { SENDERS } from '../../../stress/wire/campaign.js'
import { chunksOf, framing, streamBytes } from '../../../stress/wire/framing.js'
import { callsOf, type Intended, intended } from '../../../stress/wire/intended.js'
import { type Dialect, readersOf } from '../../../stress/wire/readers.js'
import { style } from '../../../stress/wire/sent.js'

interface Read {
  text: string
  calls: { id: string; name: string; input: unknown }[]
  end: string | null | undefined
}

type Fetch = typeof fetch

/** Each client reads the bytes that `fetch` returns. */
const CLIENTS: Record<Dialect, (fetch: Fetch) => Promise<Read>> = {
  async chat(fetch) {
    const client = new OpenAI({ apiKey: 'k', baseURL: 'http://model.test/v1', fetch, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'go' }]
    const { choices } = await client.chat.completions.stream({ model: 'm', messages }).finalChatCompletion()
    const [{ message, finish_reason } = { message: undefined, finish_reason: undefined }] = choices
    const calls = (message?.tool_calls ?? []).flatMap((call) => (call.type === 'function' ? [call] : []))
    return {
      text: message?.content ?? '',
      calls: calls.map(({ id, function: { name, arguments: json } }) => ({
        id,
        name,
        input: JSON.parse(json),
      })),
      end: finish_reason,
    }
  },
  async responses(fetch) {
    const client = new OpenAI({ apiKey: 'k', baseURL: 'http://model.test/v1', fetch, maxRetries: 0 })
    const { output, status } = await client.responses.stream({ model: 'm', input: 'go' }).finalResponse()
    const texts = output.flatMap((item) =>
      item.type === 'message'
        ? [item.content.map((part) => (part.type === 'output_text' ? part.text : '')).join('')]
        : [],
    )
    const calls = output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
    return {
      text: texts.join('\n\n'),
      calls: calls.map(({ call_id: id, name, arguments: json }) => ({ id, name, input: JSON.parse(json) })),
      end: status,
    }
  },
  async messages(fetch) {
    const client = new Anthropic({ apiKey: 'k', baseURL: 'http://model.test', fetch, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'go' }]
    const stream = client.messages.stream({ model: 'm', max_tokens: 9, messages })
    const { content, stop_reason } = await stream.finalMessage()
    return {
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      calls: content.flatMap((block) =>
        block.type === 'tool_use' ? [{ id: block.id, name: block.name, input: block.input }] : [],
      ),
      end: stop_reason,
    }
  },
}

/** The reasons of the clients that mean the limit of tokens. */
const CUT = ['length', 'max_tokens', 'incomplete']

// The clients have one form of each: names of events, indexes, an empty line after each event, and a whole end.
const sent = fc.record({
  meant: intended.filter(({ end }) => end !== 'none').filter(isReadByAll),
  how: style.map((one) => ({
    ...one,
    hasIndexes: true,
    hasMark: true,
    hasMessage: false,
    sendsEnd: true,
    sendsItems: one.sendsItems || !one.sendsPieces,
    sendsParts: true,
    rotatesItems: false,
  })),
  framed: framing.map((one) => ({
    ...one,
    names: 'also' as const,
    last: 'blank line' as const,
    joined: [],
    hasByteOrderMark: false,
    marksEachEvent: false,
    staysOpen: false,
  })),
})

/** Anthropic's client reads arguments with a parser of its own, which knows neither every number nor every name. */
function isReadByAll(meant: Intended): boolean {
  return callsOf(meant).every(({ input }) => !/__proto__|1e\+21/.test(JSON.stringify(input)))
}

const readers = await readersOf()

test.each(['chat', 'responses', 'messages'] as const)(
  'the client of its vendor reads each valid answer of %s as the provider does',
  async (dialect) => {
    await fc.assert(
      fc.asyncProperty(sent, async ({ meant, how, framed }) => {
        // The other clients expect the parts one after the other.
        const interleaves = how.interleaves && dialect === 'chat'
        const bytes = streamBytes(SENDERS[dialect].events(meant, { ...how, interleaves }), framed)
        const headers = { 'content-type': 'text/event-stream' }
        const told = await CLIENTS[dialect](async () => new Response(new Uint8Array(bytes), { headers }))
        const read = await readers.read(dialect, chunksOf(bytes, framed), 60_000)
        expect(read.failure).toBe(undefined)
        expect(read.text).toBe(told.text)
        const calls = read.calls.map(({ call_id: id, name, input }) => ({ id, name, input }))
        // A call without arguments may have been cut off, which the clients do not say.
        const isSure = (id: string): boolean =>
          read.calls.every(({ call_id, arguments_error }) => call_id !== id || arguments_error === undefined)
        const [own, theirs] = [calls, told.calls].map((all) => all.filter(({ id }) => isSure(id)).sort(byId))
        expect(own).toEqual(theirs)
        expect(calls).toHaveLength(told.calls.length)
        expect(read.incomplete).toBe(meant.end === 'unknown' ? 'brand_new' : undefined)
        const isCut = CUT.includes(String(told.end)) && calls.length === 0
        expect(read.stop).toBe(calls.length > 0 ? 'tool_calls' : isCut ? 'length' : 'end')
      }),
      { numRuns: 300 },
    )
  },
)

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1
}
