/** Promises about messages: delivered once, answered once, in the order of their sender. */
import { OPERATOR } from '../../src/format.js'
import type { Broken, Home } from './home.js'
import { type Arrival, groupBy, type Seen } from './seen.js'
import { callsOf, type Sent } from './sent.js'

export function* deliveredOnce({ seen, sent }: Home, count: (what: string) => void): Broken {
  for (const [id, found] of groupBy(
    seen.arrivals.filter(({ isDirect }) => !isDirect),
    ({ message_id }) => message_id,
  ))
    if (found.length > 1) yield `a message is delivered once: ${id} came ${found.length} times`
  const arrived = groupBy(seen.messages, ({ content, to }) => `${content} -> ${to}`)
  const known = new Map(sent.map((message) => [`${message.content} -> ${message.to}`, message]))
  for (const [place, message] of known) {
    const found = (arrived.get(place) ?? []).length
    if (found > 1) yield `a message is delivered once: ${place} came ${found} times`
    if (found > 0 && message.fate === 'refused') yield `a refused message is not stored: ${place}`
    if (found > 0 || message.fate !== 'acknowledged') continue
    if (wasReturned(seen, message)) count('returned, recipient terminated')
    else yield `an acknowledged message is delivered: ${place}, sent by ${message.from}`
  }
  for (const { content, from, to } of seen.messages) {
    const message = known.get(`${content} -> ${to}`)
    if (message === undefined) {
      if (/^(post|call) /.test(content)) yield `only sent messages are delivered: ${content} to ${to}`
    } else if (message.from !== from)
      yield `a message says who sent it: ${content} says ${from}, not ${message.from}`
  }
}

/** The error to the sender quotes the message. No error can reach a terminated sender. */
function wasReturned(seen: Seen, { content, from, to }: Sent): boolean {
  if (seen.byId(to)?.state.state !== 'terminated') return false
  if (seen.byId(from)?.state.state === 'terminated') return true
  return seen.arrivals.some(
    (arrival) =>
      arrival.kind === 'error' &&
      arrival.to === from &&
      arrival.from === to &&
      arrival.content.endsWith(`: ${content}`),
  )
}

export function* answeredOnce({ seen }: Home, count: (what: string) => void): Broken {
  const ends = endsOfRuns(seen)
  const requests = seen.arrivals.filter(({ kind, isDirect }) => kind === 'request' && !isDirect)
  const known = new Set(requests.map(({ message_id }) => message_id))
  for (const request of requests) {
    const { content, to, from } = request
    const replies = seen.repliesTo(request.message_id).filter((reply) => reply.to === from)
    const responses = replies.filter(({ kind }) => kind === 'response')
    const end = ends.get(request.run_id)
    const what = `${JSON.stringify(content)} from ${from} to ${to}, whose turn is ${end?.status}`
    if (responses.length > 1) yield `a request is answered by one response: ${what} had ${responses.length}`
    for (const { content: reply } of responses)
      if (reply !== end?.reply)
        yield `the response is the reply of the turn: to ${what} it was ${JSON.stringify(reply)}`
    if (responses.length === 1) count('answered')
    else if (replies.length > 0 && end?.status !== 'completed') count('answered by an error')
    else if (seen.byId(from)?.state.state === 'terminated') count('asked by one that is terminated')
    else if (wasTakenByShell(seen, request)) count('answered in a shell')
    else yield `a request is answered: ${what} had ${replies.length} errors and no response`
  }
  for (const { kind, reply_to, content } of seen.arrivals)
    if (kind === 'response' && !known.has(reply_to ?? ''))
      yield `a response answers a request: ${JSON.stringify(content)}`
}

/** The final status and reply of each run. Another run continues an interrupted one. */
function endsOfRuns({ agents }: Seen): Map<string, { status: string; reply: string | null }> {
  const ends = new Map<string, { status: string; reply: string | null }>()
  for (const { records, text } of agents) {
    let end: { status: string; reply: string | null } = { status: 'none', reply: null }
    for (const record of records) {
      if (record.kind === 'run.started') {
        const before = ends.get(record.continues ?? '')
        end = before ?? { status: 'open', reply: null }
        end.status = 'open'
        ends.set(record.run_id, end)
      }
      if (record.kind === 'message.agent') end.reply = text(record)
      if (/^run\.(completed|failed|cancelled|interrupted)$/.test(record.kind))
        end.status = record.kind.slice(4)
    }
  }
  return ends
}

/**
 * `send` in the shell of a tool prints the reply and removes it from the inbox. If that shell was killed as well, the
 * reply is lost with it.
 */
function wasTakenByShell(seen: Seen, { content, from }: Arrival): boolean {
  const asker = seen.byId(from)
  if (asker === undefined) return false
  return callsOf(asker).some(
    ({ name, input, result }) =>
      name === 'shell' && String(input.command).includes(`'${content}'`) && result !== null,
  )
}

/**
 * For messages from one sender to one recipient: if the first send was acknowledged before the second began, the first
 * message arrives first.
 */
export function* firstInFirstOut({ seen, sent }: Home): Broken {
  const seqs = new Map(seen.messages.map(({ content, to, seq }) => [`${content} -> ${to}`, seq]))
  const inLine = sent.filter(
    ({ isOutOfLine, fate, to }) => !isOutOfLine && fate === 'acknowledged' && to !== OPERATOR,
  )
  for (const [pair, messages] of groupBy(inLine, ({ from, to }) => `${from} to ${to}`)) {
    const placed = messages.flatMap((message) => {
      const seq = seqs.get(`${message.content} -> ${message.to}`)
      return seq === undefined ? [] : [{ ...message, seq }]
    })
    for (const first of placed)
      for (const second of placed)
        if (isBefore(first, second) && first.seq > second.seq)
          yield `mail is first-in-first-out per sender: ${first.content} was sent before ${second.content}, from ${pair}, and came after it`
  }
}

function isBefore(first: Sent, second: Sent): boolean {
  if (first.seqs !== null && second.seqs !== null) return first.seqs[1] < second.seqs[0]
  return first.ended < second.begun
}
