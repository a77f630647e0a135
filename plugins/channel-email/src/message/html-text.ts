/** The text of an HTML mail, for mail that has no plain text. Quotes have marks, as in plain text. */

const BLOCKS =
  /^(address|article|blockquote|div|dl|dt|dd|fieldset|footer|form|h[1-6]|header|hr|li|ol|p|pre|section|table|tr|ul)$/
const HIDDEN = /^(head|script|style|title|template|noscript)$/
const ENTITIES: Record<string, string> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', shy: '', zwnj: '', zwj: '' },
  ...{
    ndash: '–',
    mdash: '—',
    hellip: '…',
    lsquo: '‘',
    rsquo: '’',
    ldquo: '“',
    rdquo: '”',
    bull: '•',
    middot: '·',
  },
  ...{ laquo: '«', raquo: '»', copy: '©', reg: '®', trade: '™', euro: '€', pound: '£', sect: '§', deg: '°' },
  ...{
    auml: 'ä',
    ouml: 'ö',
    uuml: 'ü',
    Auml: 'Ä',
    Ouml: 'Ö',
    Uuml: 'Ü',
    szlig: 'ß',
    eacute: 'é',
    egrave: 'è',
  },
  ...{ ecirc: 'ê', agrave: 'à', acirc: 'â', ccedil: 'ç', ntilde: 'ñ', oacute: 'ó', iacute: 'í', aacute: 'á' },
}

export function textOfHtml(html: string): string {
  const writer = new Writer()
  let hidden: string | undefined
  for (const piece of piecesOf(html)) {
    if (!piece.isTag) {
      if (hidden === undefined) writer.write(piece.text)
      continue
    }
    const [, slash, word = ''] = /^<(\/?)([a-z][a-z0-9]*)/i.exec(piece.text) ?? []
    const name = word.toLowerCase()
    if (hidden !== undefined) {
      if (slash === '/' && name === hidden) hidden = undefined
    } else if (HIDDEN.test(name) && slash !== '/' && !piece.text.endsWith('/>')) hidden = name
    else writer.tag(name, slash === '/')
  }
  return writer.end()
}

interface Piece {
  text: string
  isTag: boolean
}

/** In time that grows with the length only, also for tags that do not end. */
function* piecesOf(html: string): Generator<Piece> {
  const tags = /<[a-z/!?]/gi
  let at = 0
  while (at < html.length) {
    tags.lastIndex = at
    const open = tags.exec(html)?.index ?? html.length
    if (open > at) yield { text: html.slice(at, open), isTag: false }
    const mark = html.startsWith('<!--', open) ? '-->' : '>'
    const close = html.indexOf(mark, open)
    if (close === -1) return
    at = close + mark.length
    if (mark === '-->') continue
    const tag = html.slice(open, at)
    yield { text: tag, isTag: true }
    const [, raw] = /^<(script|style)\b/i.exec(tag) ?? []
    if (raw === undefined) continue
    // Their content is code.
    const end = new RegExp(`</${raw}`, 'gi')
    end.lastIndex = at
    at = end.exec(html)?.index ?? html.length
  }
}

class Writer {
  private readonly lines: string[] = []
  private line = ''
  private endsWithSpace = false
  private quotes = 0
  private preformatted = 0

  write(text: string): void {
    const plain = withEntities(text)
    if (this.preformatted > 0) {
      const [first = '', ...rest] = plain.split(/\r?\n/)
      this.add(first)
      for (const line of rest) {
        this.endLine()
        this.add(line)
      }
      return
    }
    const words = plain.replace(/[ \t\r\n\f]+/g, ' ')
    this.add(this.line === '' || this.endsWithSpace ? words.replace(/^ /, '') : words)
  }

  tag(name: string, isEnd: boolean): void {
    if (name === 'br') this.endLine()
    else if (BLOCKS.test(name)) {
      if (this.line !== '') this.endLine()
      if (name === 'p' && this.lines.length > 0) this.blank()
      if (name === 'pre') this.preformatted = Math.max(0, this.preformatted + (isEnd ? -1 : 1))
      if (name === 'blockquote') this.quotes = Math.max(0, this.quotes + (isEnd ? -1 : 1))
      if (name === 'li' && !isEnd) this.add('- ')
    } else if ((name === 'td' || name === 'th') && isEnd) this.add(' ')
  }

  /** Asking the line for its end would copy it each time. */
  private add(text: string): void {
    this.line += text
    if (text !== '') this.endsWithSpace = text.endsWith(' ')
  }

  private blank(): void {
    if (!/^(> ?)*$/.test(this.lines.at(-1) as string)) this.lines.push(this.marks().trimEnd())
  }

  private endLine(): void {
    this.lines.push(`${this.marks()}${this.line.trimEnd()}`.trimEnd())
    this.line = ''
  }

  private marks(): string {
    return '> '.repeat(Math.min(this.quotes, 5))
  }

  end(): string {
    if (this.line !== '') this.endLine()
    return this.lines.join('\n').trim()
  }
}

function withEntities(text: string): string {
  return text.replace(/&(#x?[0-9a-f]{1,6}|[a-z]{2,8});/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? whole
    const isHex = /^#x/i.test(name)
    const code = Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10)
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
      ? String.fromCodePoint(code)
      : whole
  })
}
