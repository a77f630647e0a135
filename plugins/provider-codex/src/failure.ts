/** What codex says when a turn failed, as a failure of the contract. */
import type { ProviderFailure } from 'substrat/provider'
import { endedEarly, type FailureType, failure } from '../../shared/src/failure.js'
import { type Exit, killerOf, wordsOfExit } from '../../shared/src/program/exit.js'
import { failureOfText } from '../../shared/src/program/failure-text.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'

/** What is codex's own way of saying it; the first that fits. Anything else is said as other programs say it. */
const RULES: [type: FailureType, said: RegExp][] = [
  ['session_lost', /no rollout found for (thread|conversation) id/],
  [
    'misconfigured',
    /^error: (invalid value|unexpected argument|unrecognized)|Error (loading config|finding codex home)/m,
  ],
  [
    'misconfigured',
    /required MCP servers failed|To use Codex with your ChatGPT plan|requires a newer version of Codex/,
  ],
  ['authentication', /Missing environment variable|codex login|refresh token|session has ended/i],
  ['overloaded', /experiencing high demand|at capacity/],
  ['invalid', /No prompt provided/],
]
/** `try again at Nov 23rd, 2026 3:49 PM`: this machine's time, as other times of day are. */
const DATE = /try again at ([A-Z][a-z]{2} \d{1,2})(?:st|nd|rd|th), (\d{4} \d{1,2}:\d{2} [AP]M)/
const MINUTE_MS = 60_000

/** Of the message of an event, or of what it wrote to stderr. */
export function codexFailure(said: string, now = Date.now()): ProviderFailure {
  const answer = apiError(said)
  const text = answer ?? withoutNoise(said)
  const known = RULES.find(([, pattern]) => pattern.test(text))
  const found = failureOfText(text, answer === undefined ? 'crashed' : 'invalid', now)
  if (known !== undefined) return failure(known[0], found.message)
  // Said in any other words it is another thing that was not found: a thread is not given up for that.
  if (found.failure.type === 'session_lost') return failure('crashed', found.message)
  const [, day, time] = DATE.exec(text) ?? []
  if (day === undefined || found.failure.type !== 'rate_limit') return found
  // To the end of that minute: the seconds were cut off.
  const waitMs = Date.parse(`${day}, ${time}`) + MINUTE_MS - now
  return failure('rate_limit', found.message, Math.max(0, waitMs))
}

/** `hasBegun`: it has said something of the turn. */
export function exitFailure(
  program: string,
  exit: Exit,
  complaint: string,
  hasBegun: boolean,
): ProviderFailure {
  if (exit.code === 127 || exit.code === 126) {
    return failure(
      'misconfigured',
      `${program} cannot be started${complaint === '' ? '' : `: ${complaint}`}; install it (npm install -g @openai/codex) or say where it is: --option command=PATH`,
    )
  }
  const text = withoutNoise(complaint)
  const ended = `codex ${wordsOfExit(exit)} in the middle of the turn`
  // What a killed one had complained of is not why it ended.
  if (exit.code === 0 && hasBegun) return endedEarly(ended)
  if (text === '' || killerOf(exit) !== undefined) return failure('crashed', ended)
  return codexFailure(text)
}

/** A request that the API refused is said as the API's own JSON. */
function apiError(said: string): string | undefined {
  if (!said.startsWith('{')) return undefined
  try {
    return textOf(objectOf(objectOf(JSON.parse(said))?.error)?.message)
  } catch {
    return undefined
  }
}

/** Lines of stderr that have nothing to do with an end, where there are others. */
function withoutNoise(said: string): string {
  const lines = said.split('\n').map((line) => line.trim())
  const telling = lines.filter(
    (line) => line !== '' && !/^(WARNING|warning|\d{4}-\d\d-\d\dT\S+ +(ERROR|WARN))\b/.test(line),
  )
  return telling.length > 0 ? telling.join('\n') : said.trim()
}
