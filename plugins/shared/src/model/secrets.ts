/**
 * Secrets are taken out of every error before anybody sees it: APIs repeat the key that they refuse.
 *
 * Invariant: only what can be a secret is taken out. Local servers want any key at all, so `ollama`, `EMPTY` or `not-needed`
 * are common ones: taken out, they would make every sentence with that word unreadable and hide nothing.
 */
import { type Environment, proxyAuthorization } from './proxy.js'
import { proxyOf } from './route.js'

const MARK = '[secret]'

/** From here on a value is a secret, whatever it is made of. */
const CERTAIN_CHARACTERS_MIN = 20
const SECRET_CHARACTERS_MIN = 4
/** A shorter one is looked for only where it stands alone: inside of another word it is chance. */
const ANYWHERE_CHARACTERS_MIN = 8

/** What a request says in clear: a value that is no more than one of these names is none. */
export interface Public {
  url: URL
  model: string | null
}

/** For texts of a request: without its key, however it is written, and without what the URL of its proxy has. */
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
    // APIs repeat a wrong key with only its middle masked.
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

/** `lm-studio`, `sk-no-key-required`: what a person would read as words. */
function isWords(value: string): boolean {
  return value.length < CERTAIN_CHARACTERS_MIN && /^\p{L}+([-_. ]\p{L}+)*[.:,]?$/u.test(value)
}

function patternOf(value: string): RegExp {
  const literal = value.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return value.length < ANYWHERE_CHARACTERS_MIN
    ? new RegExp(`(?<![\\p{L}\\p{N}_-])${literal}(?![\\p{L}\\p{N}_-])`, 'gu')
    : new RegExp(literal, 'g')
}
