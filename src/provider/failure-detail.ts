/**
 * The full cause of a failure for the log: its stack, and the stacks of what caused it.
 *
 * Invariants: it is bounded; it has no value that was named as a secret; making it never throws, whatever was thrown.
 */
import { limits } from '../limits.js'

const CAUSES_MAX = 8
/** A shorter value is a word: local servers take any key, so `ollama` is a common one. */
const SECRET_CHARACTERS_MIN = 8

/** Nothing where no error was thrown. */
export function detailOf(thrown: unknown, secrets: string[]): { detail?: string } {
  try {
    const text = withoutSecrets(causes(thrown).join('\ncaused by '), secrets)
    if (text === '') return {}
    const { detailCharactersMax: max } = limits
    return { detail: text.length <= max ? text : `${text.slice(0, max)}…` }
  } catch {
    // Getters that throw.
    return {}
  }
}

/** The error and what it says caused it, the outermost first. */
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
  // Lines of it stay; what steers a terminal does not.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  return without.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]+/g, ' ').trim()
}
