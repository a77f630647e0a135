/** Draws answers, sends each through a reader, and shrinks what the oracle finds. */
import fc from 'fast-check'
import { chatBody, chatEvents, chatText } from './chat.js'
import { chunksOf, type Framing, framing, streamBytes, wholeBytes } from './framing.js'
import { type Intended, intended } from './intended.js'
import { judge, nextRefusal } from './judge.js'
import { type Carriage, carriage, Loopback } from './loopback.js'
import { messagesBody, messagesEvents, messagesText } from './messages.js'
import { type Mutation, mutate, mutations } from './mutations.js'
import type { Answer, Dialect, Readers } from './readers.js'
import { responsesBody, responsesEvents, responsesText } from './responses.js'
import { type Sent, type Style, style } from './sent.js'

export interface Sender {
  events(meant: Intended, how: Style): Sent[]
  body(meant: Intended): object
  text(meant: Intended): string
}

export const SENDERS: Record<Dialect, Sender> = {
  chat: { events: chatEvents, body: chatBody, text: chatText },
  messages: { events: messagesEvents, body: messagesBody, text: messagesText },
  responses: { events: responsesEvents, body: responsesBody, text: responsesText },
}

interface Drawn {
  meant: Intended
  how: Style
  mutated: Mutation[]
  framed: Framing
  isWhole: boolean
  /** Undefined: it is read in process. */
  carried: Carriage | undefined
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  meant: intended,
  how: style,
  mutated: mutations,
  framed: framing,
  isWhole: fc.nat(9).map((n) => n === 9),
  carried: carriage,
})

export interface Finding {
  dialect: Dialect
  seed: number
  path: string
  what: string
  drawn: Drawn
  bytes: string
}

export interface Report {
  /** Those that were read, without the shrinking. */
  answers: number
  /** How the answers ended. A violation counts in neither. */
  kept: number
  marked: number
  refused: number
  findings: Finding[]
}

const HANG_MS = 10_000
/** The time limit without an event, where the server keeps the connection open. */
const OPEN_TIMEOUT_MS = 20

/** Each seed draws its own answers. The first violation of a seed is shrunk, and ends it. */
export async function drawSeed(
  readers: Readers,
  dialect: Dialect,
  seed: number,
  answers: number,
  path?: string,
): Promise<Report> {
  const report: Report = { answers: 0, kept: 0, marked: 0, refused: 0, findings: [] }
  let isShrinking = false
  const property = fc.asyncProperty(drawn, async (one) => {
    const { what, ended } = await outcomeOf(readers, dialect, one)
    if (!isShrinking) report.answers += 1
    if (what === undefined) {
      if (!isShrinking && ended !== undefined) report[ended] += 1
      return
    }
    isShrinking = true
    throw new Error(what)
  })
  const options = { seed, numRuns: answers, ...(path !== undefined && { path }) }
  const result = await fc.check(property, options)
  const [one] = result.counterexample ?? []
  if (one !== undefined) {
    report.findings.push({
      dialect,
      seed,
      path: result.counterexamplePath ?? '',
      what: (await outcomeOf(readers, dialect, one)).what ?? 'it did not happen again',
      drawn: one,
      bytes: sentBytes(dialect, one).bytes.toString(),
    })
  }
  return report
}

interface Outcome {
  /** The violation. */
  what?: string | undefined
  ended?: 'kept' | 'marked' | 'refused'
}

async function outcomeOf(readers: Readers, dialect: Dialect, one: Drawn): Promise<Outcome> {
  const { bytes, damage } = sentBytes(dialect, one)
  try {
    const answer = await withinLimit(read(readers, dialect, one, bytes))
    const mayFail = damage.mayFail || (one.framed.staysOpen && answer.failure?.type === 'timeout')
    const text = SENDERS[dialect].text(one.meant)
    const what =
      judge(one.meant, text, answer, { ...damage, mayFail }) ?? nextRefusal(readers, dialect, answer)
    if (answer.failure !== undefined) return { what, ended: 'refused' }
    return { what, ended: answer.incomplete === undefined ? 'kept' : 'marked' }
  } catch (error) {
    return { what: `the reader throws: ${(error as Error).message}` }
  }
}

const loopback = new Loopback()

function read(readers: Readers, dialect: Dialect, one: Drawn, bytes: Buffer): Promise<Answer> {
  const { framed, carried } = one
  if (framed.staysOpen) return readers.read(dialect, openEnded(chunksOf(bytes, framed)), OPEN_TIMEOUT_MS)
  if (carried === undefined) return readers.read(dialect, chunksOf(bytes, framed), HANG_MS * 6)
  const chunks = chunksOf(Loopback.encoded(bytes, carried), framed)
  return loopback.serving(chunks, carried, (url) => readers.ask(dialect, url, HANG_MS * 6))
}

/** Closes the server of the answers that need one. */
export function endCampaign(): void {
  loopback.close()
}

function sentBytes(dialect: Dialect, { meant, how, mutated, framed, isWhole }: Drawn) {
  const { events, body } = SENDERS[dialect]
  const damage = {
    mayFail: false,
    isTextMoved: false,
    isMixed: false,
    areNamesShared: false,
    hasError: false,
  }
  // A response in JSON always has its status.
  const end = dialect === 'responses' && meant.end === 'none' ? 'unknown' : meant.end
  if (isWhole) return { bytes: wholeBytes(body({ ...meant, end }), framed), damage }
  const state = mutate(events(meant, how), mutated)
  return { bytes: streamBytes(state.events, framed), damage: { ...state, isMixed: how.interleaves } }
}

/** The server keeps the connection open, with comments alone. */
async function* openEnded(chunks: Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 2))
    yield Buffer.from(':\n\n')
  }
}

async function withinLimit<T>(reading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it hangs for ${HANG_MS / 1000} s`)), HANG_MS)
  })
  try {
    return await Promise.race([reading, limit])
  } finally {
    clearTimeout(timer)
  }
}
