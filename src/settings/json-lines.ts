/** Where a JSON text is wrong, and on which line a field is. Node's own messages name no line. */

const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows no control character in a text
  /("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:])/y
const SPACE = /[ \t\r\n]*/y

export interface JsonTrouble {
  line: number
  /** `expected a value, not "]"`. */
  why: string
}

/** Undefined for a text that is JSON. */
export function jsonTrouble(text: string): JsonTrouble | undefined {
  const reader = new Reader(text)
  try {
    reader.readValue()
    reader.expectEnd()
    return undefined
  } catch (error) {
    if (error instanceof Unexpected) return { line: lineAt(text, error.at), why: error.message }
    throw error
  }
}

/** The line of that field of the object that the text is. Undefined if it has no such field. */
export function lineOfField(text: string, name: string): number | undefined {
  const reader = new Reader(text)
  reader.readValue()
  const at = reader.fields.get(name)
  return at === undefined ? undefined : lineAt(text, at)
}

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

class Unexpected extends Error {
  constructor(
    readonly at: number,
    message: string,
  ) {
    super(message)
  }
}

class Reader {
  /** Where the fields of the outermost object begin. The last one counts if a field is repeated, as for JSON.parse. */
  readonly fields = new Map<string, number>()
  private at = 0
  private depth = 0

  constructor(private readonly text: string) {}

  readValue(): void {
    const token = this.peek()
    if (token === '{') this.readList('}', () => this.readField())
    else if (token === '[') this.readList(']', () => this.readValue())
    else if (token === undefined || '}],:'.includes(token)) throw this.unexpected('a value')
    else this.take()
  }

  expectEnd(): void {
    this.skipSpace()
    if (this.at < this.text.length) throw this.unexpected('the end of the text')
  }

  private readField(): void {
    const token = this.peek()
    if (token?.startsWith('"') !== true) throw this.unexpected('a name in double quotes')
    if (this.depth === 1) this.fields.set(JSON.parse(token) as string, this.at)
    this.take()
    if (this.peek() !== ':') throw this.unexpected('":"')
    this.take()
    this.readValue()
  }

  private readList(end: string, readItem: () => void): void {
    this.take()
    this.depth += 1
    if (this.peek() !== end) {
      readItem()
      while (this.peek() === ',') {
        this.take()
        readItem()
      }
    }
    if (this.peek() !== end) throw this.unexpected(`"," or "${end}"`)
    this.take()
    this.depth -= 1
  }

  /** Undefined at the end of the text, and where no token begins. */
  private peek(): string | undefined {
    this.skipSpace()
    TOKEN.lastIndex = this.at
    return TOKEN.exec(this.text)?.[0]
  }

  private take(): void {
    this.at += this.peek()?.length ?? 0
  }

  private skipSpace(): void {
    SPACE.lastIndex = this.at
    this.at += SPACE.exec(this.text)?.[0].length ?? 0
  }

  private unexpected(expected: string): Unexpected {
    const [found = ''] = this.text.slice(this.at).split('\n', 1)
    const shown = this.at === this.text.length ? 'the end of the text' : JSON.stringify(found.slice(0, 20))
    return new Unexpected(this.at, `expected ${expected}, not ${shown}`)
  }
}
