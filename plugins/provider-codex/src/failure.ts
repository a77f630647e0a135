/** Turns codex's errors into failures of the contract. */
import type { ProviderFailure } from 'substrat/provider'
import { endedEarly, type FailureType, failure } from '../../shared/src/failure.js'
import { type Exit, killerOf, wordsOfExit } from '../../shared/src/program/exit.js'
import { failureOfText } from '../../shared/src/program/failure-text.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'

/** Errors in codex's own words; the first match decides. Other errors go to the rules for all programs. */
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
/** `try again at Nov 23rd, 2026 3:49 PM`, in this machine's time zone. */
const DATE = /try again at ([A-Z][a-z]{2} \d{1,2})(?:st|nd|rd|th), (\d{4} \d{1,2}:\d{2} [AP]M)/
const MINUTE_MS = 60_000

/** `said`: the message of an event, or codex's stderr. */
export function codexFailure(said: string, now = Date.now()): ProviderFailure {
  const answer = apiError(said)
  const text = answer ?? withoutNoise(said)
  const known = RULES.find(([, pattern]) => pattern.test(text))
  const found = failureOfText(text, answer === undefined ? 'crashed' : 'invalid', now)
  if (known !== undefined) return failure(known[0], found.message)
  // Any other "not found" is about something else: it must not give up the thread.
  if (found.failure.type === 'session_lost') return failure('crashed', found.message)
  const [, day, time] = DATE.exec(text) ?? []
  if (day === undefined || found.failure.type !== 'rate_limit') return found
  // Wait to the end of that minute: the message has no seconds.
  const waitMs = Date.parse(`${day}, ${time}`) + MINUTE_MS - now
  return failure('rate_limit', found.message, Math.max(0, waitMs))
}

/** `hasBegun`: codex has reported something of the turn. */
export function exitFailure(
  program: string,
  exit: Exit,
  complaint: string,
  hasBegun: boolean,
): ProviderFailure {
  if (exit.code === 127 || exit.code === 126) {
    return failure(
      'misconfigured',
      `${program} cannot be started${complaint === '' ? '' : `: ${complaint}`}; install it: npm install -g @openai/codex, or set its path: --option command=PATH`,
    )
  }
  const text = withoutNoise(complaint)
  const ended = `codex ${wordsOfExit(exit)} before the end of its turn`
  // The stderr of a killed program does not explain its end.
  if (exit.code === 0 && hasBegun) return endedEarly(ended)
  if (text === '' || killerOf(exit) !== undefined) return failure('crashed', ended)
  return codexFailure(text)
}

/** The message of an API error, which codex reports as the API's JSON. */
function apiError(said: string): string | undefined {
  if (!said.startsWith('{')) return undefined
  try {
    return textOf(objectOf(objectOf(JSON.parse(said))?.error)?.message)
  } catch {
    return undefined
  }
}

/** Removes warnings and log lines from stderr, unless nothing else is left. */
function withoutNoise(said: string): string {
  const lines = said.split('\n').map((line) => line.trim())
  const telling = lines.filter(
    (line) => line !== '' && !/^(WARNING|warning|\d{4}-\d\d-\d\dT\S+ +(ERROR|WARN))\b/.test(line),
  )
  return telling.length > 0 ? telling.join('\n') : said.trim()
}
