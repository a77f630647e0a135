/** Turns an agent program's error text into a failure of the contract. The first rule that matches decides. */
import type { ProviderFailure } from 'substrat/provider'
import { type FailureType, failure } from '../failure.js'
import { waitMs } from './wait-text.js'

const MESSAGE_CHARACTERS_MAX = 1000

const RULES: [type: FailureType, said: RegExp][] = [
  [
    'overflow',
    /(prompt|input|conversation|context) (is )?too (long|large)|maximum context|context (window|length)/i,
  ],
  [
    'session_lost',
    /no (conversation|rollout|session|thread) (was )?found|(session|thread|conversation) .{0,80}\bnot found/i,
  ],
  ['busy', /already (in use|has an active writer)/i],
  // The account cannot pay, so waiting does not help.
  ['billing', /credit balance is too low|insufficient[ _](credits|balance|quota)|billing/i],
  [
    'rate_limit',
    /rate.?limit|too many requests|\b429\b|(usage|session|weekly|opus|sonnet|\d+.hour) limit|limit reached|hit your .{0,40}limit/i,
  ],
  ['overloaded', /overloaded|\b(503|529)\b|at capacity|try again later/i],
  ['server_error', /\b(500|502|504)\b|internal server error/i],
  [
    'refused',
    /content.?filter|(content|usage) (management )?polic(y|ies)|(was|been|is) flagged|violat\w+ .{0,60}polic(y|ies)/i,
  ],
  [
    'authentication',
    /\b(401|403)\b|unauthori[sz]ed|forbidden|does not have (permission|access)|permission_error|authenticat|invalid (x-)?api.?key|(incorrect|missing) api key|(run|please) .{0,20}\/?login|not logged in|oauth token/i,
  ],
  [
    'misconfigured',
    /(model|provider).{0,80}(not (found|exist|supported|available)|does not exist)|unknown (model|option|argument)|unexpected argument|cannot be used with/i,
  ],
  [
    'unreachable',
    /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|unable to connect|connection (error|refused|reset)|network error|stream disconnected|error sending request/i,
  ],
  ['timeout', /timed? ?out/i],
  ['invalid', /\b400\b|invalid.request/i],
]

/** `otherwise`: the type of a text that no rule matches. */
export function failureOfText(
  text: string,
  otherwise: FailureType = 'crashed',
  now = Date.now(),
): ProviderFailure {
  const type = RULES.find(([, said]) => said.test(text))?.[0] ?? otherwise
  const canWait = type === 'rate_limit' || type === 'overloaded' || type === 'server_error'
  return failure(type, oneLine(text), canWait ? waitMs(text, now) : undefined)
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  if (line === '') return 'the program failed without an error message'
  return line.length <= MESSAGE_CHARACTERS_MAX ? line : `${line.slice(0, MESSAGE_CHARACTERS_MAX)}…`
}
