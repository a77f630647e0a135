// man(7) text from plain text and from Markdown. Both groff and mandoc read it. The output is ASCII, so no locale changes it.
import { marked } from 'marked'

const SPECIAL = {
  '\\': '\\(rs',
  '-': '\\-',
  "'": '\\(aq',
  '"': '\\(dq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
}

/** Text as it is: a reader can copy it, and no character begins a request. */
export function literal(text) {
  return text.replace(/[\\\-'"`^~]|[^\0-~]/gu, (char) => SPECIAL[char] ?? `\\[u${hexOf(char)}]`)
}

/** A sentence. Its hyphens stay hyphens, but those of a flag do not. */
export function prose(text) {
  const escaped = literal(text.replace(/\s+/g, ' ')).replace(/(?<=\w)\\-(?=\w)/g, '-')
  // A line must not begin with a dot, which would be a request.
  return escaped.startsWith('.') ? `\\&${escaped}` : escaped
}

const hexOf = (char) => char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')
const bold = (escaped) => `\\fB${escaped}\\fR`
const italic = (escaped) => `\\fI${escaped}\\fR`

/** An item with its description, as in a list of flags. `term` is escaped, `description` is not. */
export const item = (term, description = '') =>
  `.TP\n${term}\n${description === '' ? '\\&' : prose(description)}`
export const flagName = (name) => bold(literal(name))
export const valueName = (name) => italic(literal(name))
export const title = (text) => `.SH "${literal(text).toUpperCase()}"`
export const subtitle = (text) => `.SS "${literal(text)}"`
export const paragraph = (escaped) => `.PP\n${escaped}`
/** Lines that are not filled, such as a command to type. */
export const example = (text) => `.PP\n.RS 4\n.EX\n${lines(text)}\n.EE\n.RE`
const lines = (text) => text.split('\n').map(codeLine).join('\n')
const codeLine = (line) => (line === '' ? '\\&' : literal(line).replace(/^\./, '\\&.'))

/**
 * The first lines of a page. They have no date: the same sources make the same bytes on every day. Lines are not justified and
 * words are not broken, because a reader copies them.
 */
export function heading(name, section, version) {
  const words = [literal(name.toUpperCase()), section, '', `substrat ${version}`, 'substrat']
  return [`'\\" t`, `.TH ${words.map((word) => `"${word}"`).join(' ')}`, '.nh', '.ad l'].join('\n')
}

/** `linkText(text, href)` is the escaped text of a link. The first heading is left out, because NAME has it. */
export function markdown(text, linkText) {
  return blocks(marked.lexer(text), linkText).join('\n')
}

function blocks(tokens, linkText) {
  const inline = (token) => spans(token.tokens, linkText)
  return tokens.flatMap((token) => {
    switch (token.type) {
      case 'space':
      case 'html':
        return []
      case 'heading':
        if (token.depth === 1) return []
        return [token.depth === 2 ? title(plain(token)) : subtitle(plain(token))]
      case 'paragraph':
        return [paragraph(inline(token))]
      case 'text':
        return [inline(token)]
      case 'code':
        return [example(token.text)]
      case 'list':
        return list(token, linkText)
      case 'table':
        return table(token, linkText)
      default:
        throw new Error(`man/roff.mjs cannot write Markdown of the type ${token.type}: ${token.raw}`)
    }
  })
}

function list({ items, ordered, start }, linkText) {
  return items.flatMap(({ tokens }, index) => {
    const [first, ...rest] = blocks(tokens, linkText)
    const mark = ordered ? `.IP ${start + index}. 4` : '.IP \\(bu 2'
    const nested = rest.length === 0 ? [] : [`.RS ${ordered ? 4 : 2}`, ...rest, '.RE']
    return [mark, first, ...nested]
  })
}

function table({ header, rows, align }, linkText) {
  const row = (cells) => cells.map(({ tokens }) => spans(tokens, linkText)).join('\t')
  const columns = align.map((side) => (side === 'right' ? 'r' : 'l')).join(' ')
  const titles = header.map(({ tokens }) => bold(spans(tokens, linkText))).join('\t')
  return ['.TS', `${columns}.`, titles, ...rows.map(row), '.TE']
}

function spans(tokens = [], linkText) {
  const escaped = tokens.map((token) => span(token, linkText)).join('')
  return escaped.startsWith('.') ? `\\&${escaped}` : escaped
}

function span(token, linkText) {
  switch (token.type) {
    case 'text':
    case 'escape':
      return token.tokens === undefined ? prose(token.text) : spans(token.tokens, linkText)
    case 'codespan':
      return bold(literal(token.text))
    case 'strong':
      return bold(spans(token.tokens, linkText).replaceAll('\\fR', '\\fB'))
    case 'em':
      return italic(spans(token.tokens, linkText).replaceAll('\\fR', '\\fI'))
    case 'link':
      return linkText(spans(token.tokens, linkText), token.href)
    default:
      throw new Error(`man/roff.mjs cannot write Markdown of the type ${token.type}: ${token.raw}`)
  }
}

const plain = (token) => token.tokens.map(({ text }) => text).join('')
