/** Finds the server's words in the body of an error, in any of the forms in use. */

/** The names of the fields that hold words, the most telling first. */
const FIELDS = [
  'message',
  'error',
  'errors',
  'detail',
  'details',
  'error_description',
  'error_message',
  'errorMessage',
  'description',
  'msg',
  'Message',
  'reason',
  'fault',
  'faultstring',
  'title',
  'status_msg',
  'base_resp',
]
const LEVELS_MAX = 6
const WORDS_MAX = 3
const CHARACTERS_MAX = 1000

/** Whether a field has words. */
export function hasWords(body: unknown): boolean {
  return wordsOf(body, 0) !== ''
}

/** The JSON itself if no field has words. Empty for an empty body. */
export function wordsIn(body: unknown): string {
  const words = wordsOf(body, 0)
  if (words !== '') return words
  const json = JSON.stringify(body ?? {}) ?? ''
  return json === '{}' || json === '[]' || json === '""' ? '' : json.slice(0, CHARACTERS_MAX)
}

function wordsOf(value: unknown, level: number): string {
  if (level > LEVELS_MAX) return ''
  if (typeof value === 'string') return withinText(value, level)
  if (typeof value !== 'object' || value === null) return ''
  if (Array.isArray(value))
    return value
      .slice(0, WORDS_MAX)
      .map((item) => wordsOf(item, level + 1))
      .filter(Boolean)
      .join('; ')
  const fields = value as Record<string, unknown>
  for (const name of FIELDS) {
    const words = wordsOf(fields[name], level + 1)
    if (words !== '') return `${words}${upstreamWords(fields.metadata, words, level)}`
  }
  return ''
}

/** OpenRouter says only that its provider failed, and puts that provider's answer into the metadata. */
function upstreamWords(metadata: unknown, words: string, level: number): string {
  const raw =
    typeof metadata === 'object' && metadata !== null ? (metadata as { raw?: unknown }).raw : undefined
  const more = wordsOf(raw, level + 1)
  return more === '' || words.includes(more) ? '' : `: ${more}`
}

/** Gateways put the JSON of another error into their own words. */
function withinText(text: string, level: number): string {
  if (text.trimStart().startsWith('{')) {
    try {
      return wordsOf(JSON.parse(text), level + 1) || text
    } catch {
      // It only looks like JSON.
    }
  }
  return text
}
