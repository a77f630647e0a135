/**
 * The full cause of a failure for the log: its stack, and the stacks of its causes.
 *
 * Invariants: its length is bounded; it contains no named secret; computing it never throws.
 */
import { limits } from '../limits.js'

const CAUSES_MAX = 8
/** Shorter values are not masked: local servers accept any key, so an ordinary word such as `ollama` is a common one. */
const SECRET_CHARACTERS_MIN = 8

/** Returns an empty object if the thrown value is not an error. */
export function detailOf(thrown: unknown, secrets: string[]): { detail?: string } {
  try {
    const text = withoutSecrets(causes(thrown).join('\ncaused by '), secrets)
    if (text === '') return {}
    const { detailCharactersMax: max } = limits
    return { detail: text.length <= max ? text : `${text.slice(0, max)}…` }
  } catch {
    // A getter of the thrown value threw.
    return {}
  }
}

/** The error and its causes, the outermost first. */
function causes(thrown: unknown): string[] {
  const found: string[] = []
  for (let error = thrown; error instanceof Error && found.length < CAUSES_MAX; error = error.cause) {
    const { stack, message, code } = error as NodeJS.ErrnoException
    const text = typeof stack === 'string' && stack !== '' ? stack : String(message)
    found.push(typeof code === 'string' && !text.includes(code) ? `${text}\n    code: ${code}` : text)
  }
  return found
}

function withoutSecrets(text: string, secrets: string[]): string {
  const values = secrets.filter(({ length }) => length >= SECRET_CHARACTERS_MIN)
  const without = values
    .flatMap((value) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)])
    .sort((a, b) => b.length - a.length)
    .reduce((rest, value) => rest.replaceAll(value, '[secret]'), text)
  // Newlines stay; other control characters do not.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are removed
  return without.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]+/g, ' ').trim()
}
