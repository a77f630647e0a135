/** The output of a command with `--json`: lines of `--stream`, and results of one or more lines. */

/** A line of `--stream`: a durable record of an agent, or live text. */
export interface StreamLine {
  agent: string
  kind: string
  seq?: number
  ts?: string
  run_id?: string
  key?: string
  continues?: string
  partial?: true
  content?: unknown
}

/** A command that prints more than this has results that no face can use. */
const OUTPUT_CHARACTERS_MAX = 64 * 1024 * 1024

export class Output {
  private rest = ''
  private tail = ''
  private readonly results: unknown[] = []

  constructor(
    private readonly onLine: (line: StreamLine) => void,
    private readonly onResult: (result: unknown) => void,
  ) {}

  add(text: string): void {
    if (this.rest.length + this.tail.length > OUTPUT_CHARACTERS_MAX) return
    const lines = (this.rest + text).split('\n')
    this.rest = lines.pop() ?? ''
    for (const line of lines) this.addLine(line)
  }

  /** Returns the results. */
  end(): unknown[] {
    if (this.rest !== '') this.addLine(this.rest)
    return this.results
  }

  private addLine(line: string): void {
    const value = this.tail === '' ? parsed(line) : undefined
    if (value === undefined) {
      this.tail += `${line}\n`
      // Only the last line of an object of several lines begins with its bracket.
      const whole = line.startsWith('}') ? parsed(this.tail) : undefined
      if (whole === undefined) return
      this.tail = ''
      this.addResult(whole)
    } else if (isStreamLine(value)) this.onLine(value)
    else this.addResult(value)
  }

  private addResult(result: unknown): void {
    this.results.push(result)
    this.onResult(result)
  }
}

function isStreamLine(value: unknown): value is StreamLine {
  const { agent, kind } = Object(value) as Partial<StreamLine>
  return typeof agent === 'string' && typeof kind === 'string'
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
