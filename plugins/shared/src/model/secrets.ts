/**
 * Removes secrets from errors before they are logged or shown: some APIs repeat the key that they reject.
 *
 * Invariant: only a value that can be a secret is removed. Local servers accept any key, often `ollama`, `EMPTY` or
 * `not-needed`. Removing such a word would hide nothing and make messages unreadable.
 */
import { type Environment, proxyAuthorization } from './proxy.js'
import { proxyOf } from './route.js'

const MARK = '[secret]'

/** A value of this length counts as a secret, even if it looks like words. */
const CERTAIN_CHARACTERS_MIN = 20
const SECRET_CHARACTERS_MIN = 4
/** A shorter value is removed only as a whole word, because inside another word it is chance. */
const ANYWHERE_CHARACTERS_MIN = 8

/** Public parts of the request. A value that equals one of them is not a secret. */
export interface Public {
  url: URL
  model: string | null
}

/** Returns a function that removes the key, in any encoding, and the credentials of the proxy from a text. */
export function scrubber(
  key: string | undefined,
  known: Public,
  environment: Environment,
): (text: string) => string {
  const proxy = proxyOf(known.url, environment)
  const values = [
    key,
    proxy?.password,
    proxy && decodeURIComponent(proxy.password),
    proxy && proxyAuthorization(proxy),
  ]
  const patterns = values
    .filter((value) => value !== undefined)
    .filter((value) => canBeSecret(value, known))
    .flatMap((value) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)])
    .sort((a, b) => b.length - a.length)
    .map(patternOf)
  return (text) => {
    const without = patterns.reduce((rest, pattern) => rest.replace(pattern, MARK), text)
    // Some APIs repeat a wrong key with only its middle masked.
    return without.replace(/\b(sk-|Bearer )([\w.*…-]{6,})/g, (whole, _, rest: string) =>
      isWords(rest) ? whole : MARK,
    )
  }
}

function canBeSecret(value: string, { url, model }: Public): boolean {
  if (value.length >= CERTAIN_CHARACTERS_MIN) return true
  if (value.length < SECRET_CHARACTERS_MIN || isWords(value)) return false
  if (value.length < ANYWHERE_CHARACTERS_MIN && /^\d+$/.test(value)) return false
  const names = [url.hostname, model ?? '', ...url.hostname.split('.'), ...(model ?? '').split(/[/:@]/)]
  return !names.some((name) => name.toLowerCase() === value.toLowerCase())
}

/** Whether the value reads as words: `lm-studio`, `sk-no-key-required`. */
function isWords(value: string): boolean {
  return value.length < CERTAIN_CHARACTERS_MIN && /^\p{L}+([-_. ]\p{L}+)*[.:,]?$/u.test(value)
}

function patternOf(value: string): RegExp {
  const literal = value.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return value.length < ANYWHERE_CHARACTERS_MIN
    ? new RegExp(`(?<![\\p{L}\\p{N}_-])${literal}(?![\\p{L}\\p{N}_-])`, 'gu')
    : new RegExp(literal, 'g')
}
