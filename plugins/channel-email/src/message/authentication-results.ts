/** Parses an Authentication-Results field (RFC 8601). */
import { withoutComments } from './fields.js'

export interface AuthenticationResults {
  /** In lower case. */
  authservId: string
  results: AuthenticationResult[]
}

export interface AuthenticationResult {
  /** In lower case: `dkim`, `spf`, `dmarc`, `auth`. */
  method: string
  /** In lower case: `pass`, `fail`, `none`. */
  result: string
  /** By type and property: `header.from`. In lower case. */
  properties: Map<string, string>
}

/** Undefined for a field that does not follow the grammar. */
export function authenticationResults(value: string): AuthenticationResults | undefined {
  const text = withoutComments(value)
  const [head, ...sections] = text === undefined ? [] : sectionsOf(text)
  const [id, version, ...rest] = head ?? []
  if (id === undefined || rest.length > 0 || (version !== undefined && version !== '1')) return undefined
  const results: AuthenticationResult[] = []
  for (const words of sections) {
    if (words.length === 0 || (words.length === 1 && words[0]?.toLowerCase() === 'none')) continue
    const result = resultOf(words)
    if (result === undefined) return undefined
    results.push(result)
  }
  return { authservId: id.toLowerCase(), results }
}

function resultOf([verdict = '', ...properties]: string[]): AuthenticationResult | undefined {
  const [, method, result] = /^([a-z0-9-]+)(?:\/\d+)?=([a-z0-9-]+)$/i.exec(verdict) ?? []
  if (method === undefined || result === undefined) return undefined
  const found = new Map<string, string>()
  for (const property of properties) {
    const equals = property.indexOf('=')
    const name = property.slice(0, equals).toLowerCase()
    if (equals < 1 || found.has(name)) return undefined
    found.set(name, property.slice(equals + 1).toLowerCase())
  }
  return { method: method.toLowerCase(), result: result.toLowerCase(), properties: found }
}

/** The words between semicolons. A quoted string is part of its word, without the quotes. Spaces around "=" do not count. */
function sectionsOf(text: string): string[][] {
  const sections: string[][] = [[]]
  let word = ''
  let isWord = false
  const endWord = (): void => {
    const words = sections.at(-1) as string[]
    const joins = words.at(-1)?.endsWith('=') === true || (word.startsWith('=') && words.length > 0)
    if (isWord && joins) words.push(`${words.pop()}${word}`)
    else if (isWord) words.push(word)
    word = ''
    isWord = false
  }
  for (const [piece] of text.matchAll(/"(?:[^"\\]|\\.)*"|[^"]/gs)) {
    if (piece.length > 1) word += piece.slice(1, -1).replace(/\\(.)/gs, '$1')
    else if (/\s/.test(piece)) endWord()
    else if (piece === ';') {
      endWord()
      sections.push([])
    } else word += piece
    isWord ||= word !== '' || piece.length > 1
  }
  endWord()
  return sections
}
