/** Draws answers, sends each through a reader, and shrinks what the oracle finds. */
import fc from 'fast-check'
import { chatBody, chatEvents, chatText } from './chat.js'
import { chunksOf, type Framing, framing, streamBytes, wholeBytes } from './framing.js'
import { type Intended, intended } from './intended.js'
import { judge, nextRefusal } from './judge.js'
import { messagesBody, messagesEvents, messagesText } from './messages.js'
import { type Mutation, mutate, mutations } from './mutations.js'
import type { Dialect, Readers } from './readers.js'
import { responsesBody, responsesEvents, responsesText } from './responses.js'
import { type Sent, type Style, style } from './sent.js'

interface Sender {
  events(meant: Intended, how: Style): Sent[]
  body(meant: Intended): object
  text(meant: Intended): string
}

const SENDERS: Record<Dialect, Sender> = {
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
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  meant: intended,
  how: style,
  mutated: mutations,
  framed: framing,
  isWhole: fc.nat(9).map((n) => n === 9),
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
  answers: number
  /** How the answers ended. */
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
  const property = fc.asyncProperty(drawn, async (one) => {
    const what = await violation(readers, dialect, one, report)
    if (what !== undefined) throw new Error(what)
  })
  const options = { seed, numRuns: answers, ...(path !== undefined && { path }) }
  const result = await fc.check(property, options)
  report.answers = result.numRuns
  const [one] = result.counterexample ?? []
  if (one !== undefined) {
    report.findings.push({
      dialect,
      seed,
      path: result.counterexamplePath ?? '',
      what: (await violation(readers, dialect, one, undefined)) ?? 'it did not happen again',
      drawn: one,
      bytes: sentBytes(dialect, one).bytes.toString(),
    })
  }
  return report
}

async function violation(
  readers: Readers,
  dialect: Dialect,
  one: Drawn,
  report: Report | undefined,
): Promise<string | undefined> {
  const { bytes, damage } = sentBytes(dialect, one)
  const chunks = chunksOf(bytes, one.framed)
  try {
    const answer = await withinLimit(
      one.framed.staysOpen
        ? readers.read(dialect, openEnded(chunks), OPEN_TIMEOUT_MS)
        : readers.read(dialect, chunks, HANG_MS * 6),
    )
    if (report !== undefined) {
      if (answer.failure !== undefined) report.refused += 1
      else if (answer.incomplete === undefined) report.kept += 1
      else report.marked += 1
    }
    const mayFail = damage.mayFail || (one.framed.staysOpen && answer.failure?.type === 'timeout')
    const text = SENDERS[dialect].text(one.meant)
    return judge(one.meant, text, answer, { ...damage, mayFail }) ?? nextRefusal(readers, dialect, answer)
  } catch (error) {
    return `the reader throws: ${(error as Error).message}`
  }
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
