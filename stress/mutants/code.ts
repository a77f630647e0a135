/**
 * Finds the code that a mutant names by its text. All files of src/ are searched, so neither a new file name nor a moved function
 * matters. Spaces, lines, comments and a comma at the end of a list do not count. After a rename the code is found by its form, and
 * the mutant takes the new names.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commentsIn } from './syntax.js'

/** The text of each source file, by its path in src/. */
export type Sources = Map<string, string>

export function sourcesIn(root: string): Sources {
  const src = join(root, 'src')
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  return new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]))
}

export interface Found {
  file: string
  start: number
  end: number
  /** The new names, by the names in the text. */
  renames: Map<string, string>
}

/** With more new names, other code of the same form could be taken for it. */
const RENAMES_MAX = 3
/** Shorter code has its form in common with too much other code. */
const FORM_TOKENS_MIN = 6

/** Throws if the text is not in exactly one place. */
export function findCode(sources: Sources, text: string): Found {
  const wanted = tokensOf(text)
  const exact = placesOf(sources, wanted, 'exact')
  const [found, other] = exact.length > 0 ? exact : closest(placesOf(sources, wanted, 'form'))
  if (found === undefined) throw new Error(`src/ does not have this code any more, correct it: ${text}`)
  if (other !== undefined) throw new Error(`src/ has this code more than once, name more of it: ${text}`)
  return found
}

export function withRenames(text: string, renames: Map<string, string>): string {
  return text.replaceAll(WORD, (word) => renames.get(word) ?? word)
}

function closest(places: Found[]): Found[] {
  const fewest = Math.min(...places.map(({ renames }) => renames.size))
  const best = places.filter(({ renames }) => renames.size === fewest)
  return fewest > RENAMES_MAX || best.length > 1 ? [] : best
}

interface Token {
  text: string
  start: number
}

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/gu
const TOKEN = new RegExp(`${WORD.source}|\\p{N}[\\w.]*|\\S`, 'gu')
const KEYWORD =
  /^(async|await|break|case|catch|class|const|continue|default|delete|do|else|export|extends|false|finally|for|function|if|import|in|instanceof|let|new|null|of|return|static|super|switch|this|throw|true|try|typeof|undefined|void|while|yield)$/

function tokensOf(text: string): Token[] {
  const tokens = [...text.matchAll(TOKEN)].map((match) => ({ text: match[0], start: match.index }))
  const closes = (token: Token | undefined): boolean => /^[)\]}]$/.test(token?.text ?? '')
  return tokens.filter((token, index) => token.text !== ',' || !closes(tokens[index + 1]))
}

/** The tokens, each between two spaces. In the form, every name is the same. A word in quotes is of the contract, such as a record kind. */
function joined(tokens: Token[], by: keyof IndexedText): string {
  const isQuote = (index: number): boolean => tokens[index]?.text === "'"
  const isName = ({ text }: Token, index: number): boolean =>
    text.search(WORD) === 0 && !KEYWORD.test(text) && !isQuote(index - 1) && !isQuote(index + 1)
  return ` ${tokens.map((token, index) => (by === 'form' && isName(token, index) ? '@' : token.text)).join(' ')} `
}

interface IndexedText {
  exact: string
  form: string
}

interface Indexed extends IndexedText {
  tokens: Token[]
  words: Set<string>
}

const indexedBySource = new Map<string, Indexed>()

function indexed(source: string): Indexed {
  const known = indexedBySource.get(source)
  if (known !== undefined) return known
  const code = commentsIn(source).reduce(
    (text, { start, end }) => text.slice(0, start) + ' '.repeat(end - start) + text.slice(end),
    source,
  )
  const tokens = tokensOf(code)
  const words = new Set(tokens.map(({ text }) => text))
  const made = { tokens, words, exact: joined(tokens, 'exact'), form: joined(tokens, 'form') }
  indexedBySource.set(source, made)
  return made
}

function placesOf(sources: Sources, wanted: Token[], by: keyof IndexedText): Found[] {
  if (by === 'form' && wanted.length < FORM_TOKENS_MIN) return []
  const text = joined(wanted, by)
  return [...sources].flatMap(([file, source]) => {
    const { tokens, words, [by]: all } = indexed(source)
    return indexesOf(text, all).flatMap((index) => {
      const here = tokens.slice(index, index + wanted.length)
      const renames = renamesOf(wanted, here, words)
      const [first, last] = [here[0], here.at(-1)] as [Token, Token]
      const end = last.start + last.text.length
      return renames === undefined ? [] : [{ file, start: first.start, end, renames }]
    })
  })
}

/** The index of the first token of each place. */
function indexesOf(text: string, all: string): number[] {
  const indexes: number[] = []
  for (let at = all.indexOf(text); at >= 0; at = all.indexOf(text, at + 1))
    indexes.push(all.slice(0, at + 1).split(' ').length - 2)
  return indexes
}

/** Undefined if a name became two, if two became one, or if the file still has a name that was to be another one now. */
function renamesOf(wanted: Token[], here: Token[], words: Set<string>): Map<string, string> | undefined {
  const now = new Map<string, string>()
  for (const [index, { text }] of wanted.entries()) {
    const other = here[index]?.text as string
    if ((now.get(text) ?? other) !== other) return undefined
    now.set(text, other)
  }
  if (new Set(now.values()).size < now.size) return undefined
  const renames = new Map([...now].filter(([before, after]) => before !== after))
  return [...renames.keys()].some((name) => words.has(name)) ? undefined : renames
}
