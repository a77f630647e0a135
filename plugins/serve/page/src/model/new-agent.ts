/** The fields of a new agent, as texts of a form, and the field that an error is about. */
import { Problem } from '../api/problem.js'
import type { BodyOf } from '../api/types.js'

const FIELDS = ['name', 'provider', 'model', 'workspace', 'instructions', 'prompt', 'allow'] as const
export type Field = (typeof FIELDS)[number] | 'options'

/** The names of options begin with this in the form. */
export const OPTION = 'option '

/** `name` has no value if it is empty: the server then chooses what the settings say. */
export function bodyOf(form: Iterable<[string, unknown]>): BodyOf<'spawnAgent'> {
  const filled = [...form].map(
    ([name, value]) => [name, String(value).replaceAll('\r\n', '\n').trim()] as const,
  )
  const given = filled.filter(([, text]) => text !== '')
  const options = given.flatMap(([name, text]) =>
    name.startsWith(OPTION) ? [[name.slice(OPTION.length), text]] : [],
  )
  const fields = Object.fromEntries(given.filter(([name]) => !name.startsWith(OPTION)))
  const { allow, ...texts } = fields
  return {
    ...texts,
    ...(allow === undefined ? {} : { allow: entriesOf(allow) }),
    ...(options.length === 0 ? {} : { options: Object.fromEntries(options) }),
  }
}

/** A comma within the parentheses of a pattern belongs to it. */
export function entriesOf(text: string): string[] {
  return text.split(/,(?![^(]*\))/).map((entry) => entry.trim())
}

const BY_CODE: Record<string, Field> = { NAME_TAKEN: 'name', PROVIDER_NOT_FOUND: 'provider' }

/** The words by which a message names the field, first match. */
const BY_WORDS: [RegExp, Field][] = [
  [/workspace|working directory/i, 'workspace'],
  [/\ballow\b|approval/i, 'allow'],
  [/\bmodel\b/i, 'model'],
  [/option/i, 'options'],
  [/\bname\b/i, 'name'],
  [/provider|\bkey\b/i, 'provider'],
]

/** Undefined for an error of the whole request. */
export function fieldOf(error: unknown): Field | undefined {
  if (!(error instanceof Problem) || error.status === undefined || error.status >= 500) {
    // A provider that is not set up is a status of the gateway, but a choice of this form.
    if (!(error instanceof Problem) || error.code !== 'PROVIDER_MISCONFIGURED') return undefined
  }
  const { param } = error.facts
  const named = FIELDS.find((name) => name === String(param).split('.')[0])
  if (named !== undefined) return named
  return BY_CODE[error.code] ?? BY_WORDS.find(([words]) => words.test(error.message))?.[1]
}
