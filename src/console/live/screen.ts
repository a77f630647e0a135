/**
 * Lines below the output of a command that are redrawn in place.
 *
 * Invariants:
 * - The cursor stays above these lines, at the end of the output. One control sequence therefore erases them, also after a
 *   change of the window's size.
 * - Every write to the terminal through Node erases them first.
 * - A line is never wider than the window.
 */
import process from 'node:process'
import { clock } from '../../clock.js'
import { columnAfter } from './fit.js'

type Write = NodeJS.WriteStream['write']

const ERASE_BELOW = '\u001b[J'
const CSI = '\u001b['
/** A longer line of output has no lines below it until it ends. */
const TAIL_CHARACTERS_MAX = 10_000
const LOOK_MS = 200

export class Screen {
  /** The output since its last line break. */
  private tail = ''
  private isColumnKnown = true
  private isLiveText = false
  private drawn = ''
  private isDrawDue = false
  private lastColumns: number
  private timer: NodeJS.Timeout | undefined
  private drawnAtMs = Number.NEGATIVE_INFINITY
  private readonly write: Write
  private readonly undo: (() => void)[] = []

  /** `lines` has the lines for a window of this size. */
  constructor(
    private readonly stderr: NodeJS.WriteStream,
    others: NodeJS.WriteStream[],
    private readonly lines: (columns: number, rows: number) => string[],
  ) {
    this.write = stderr.write.bind(stderr) as Write
    this.lastColumns = stderr.columns || 80
    for (const stream of [stderr, ...others]) this.watch(stream)
    const onResize = (): void => this.resized()
    const onExit = (): void => this.erase()
    stderr.on('resize', onResize)
    process.on('exit', onExit)
    this.undo.push(() => {
      stderr.off('resize', onResize)
      process.off('exit', onExit)
    })
  }

  /** Columns that a line may fill. The last one stays free: some terminals break the line there. */
  get columns(): number {
    return Math.max(1, (this.stderr.columns || 80) - 1)
  }

  /** Redraws from now on, until `close`. */
  start(): void {
    this.timer ??= setInterval(() => this.draw(), LOOK_MS).unref()
  }

  close(): void {
    clearInterval(this.timer)
    this.timer = undefined
    this.erase()
    for (const undo of this.undo.splice(0)) undo()
  }

  /** A piece of text that may continue. Anything else that follows begins in a new line. */
  text(stream: NodeJS.WriteStream, piece: string): void {
    this.isLiveText = false
    stream.write(piece)
    this.isLiveText = true
    this.draw()
  }

  /** Ends the line of a text that will not continue. */
  endText(stream: NodeJS.WriteStream): void {
    this.isLiveText = false
    stream.write('\n')
  }

  /** Like `draw`, for a command that is too busy for timers. */
  drawIfLate(): void {
    if (clock.monotonic() - this.drawnAtMs >= LOOK_MS) this.draw()
  }

  draw(): void {
    this.drawnAtMs = clock.monotonic()
    const column = this.isColumnKnown ? columnAfter(this.tail, this.stderr.columns || 80) : undefined
    const rows = Math.max(1, (this.stderr.rows || 24) - 2)
    const lines = column === undefined ? [] : this.lines(this.columns, rows).slice(0, rows)
    const block = lines.length === 0 ? '' : blockBelow(lines, column as number)
    if (block === this.drawn) return
    this.write(`${this.drawn === '' ? '' : ERASE_BELOW}${block}`)
    this.drawn = block
  }

  erase(): void {
    if (this.drawn !== '') this.write(ERASE_BELOW)
    this.drawn = ''
  }

  private resized(): void {
    this.erase()
    const columns = this.stderr.columns || 80
    const used = columnAfter(this.tail, Number.POSITIVE_INFINITY)
    // Some terminals wrap a long line again, others do not.
    this.isColumnKnown &&= used !== undefined && used < Math.min(columns, this.lastColumns)
    this.lastColumns = columns
    this.draw()
  }

  private watch(stream: NodeJS.WriteStream): void {
    const write = stream.write.bind(stream) as Write
    const watched = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
      this.erase()
      const text = String(chunk)
      if (text === '') return (write as (...all: unknown[]) => boolean)(chunk, ...rest)
      if (this.isLiveText && this.tail !== '') this.endLine()
      this.isLiveText = false
      this.follow(text)
      this.drawSoon()
      return (write as (...all: unknown[]) => boolean)(chunk, ...rest)
    }
    stream.write = watched as Write
    this.undo.push(() => {
      stream.write = write
    })
  }

  /** Once the writer has finished its line. */
  private drawSoon(): void {
    if (this.isDrawDue || this.timer === undefined) return
    this.isDrawDue = true
    queueMicrotask(() => {
      this.isDrawDue = false
      if (this.timer !== undefined) this.draw()
    })
  }

  private endLine(): void {
    this.write('\n')
    this.tail = ''
    this.isColumnKnown = true
  }

  private follow(text: string): void {
    const end = text.lastIndexOf('\n')
    if (end >= 0) this.isColumnKnown = true
    this.tail = end < 0 ? this.tail + text : text.slice(end + 1)
    if (this.tail.length > TAIL_CHARACTERS_MAX) {
      this.isColumnKnown = false
      this.tail = this.tail.slice(-1)
    }
  }
}

function blockBelow(lines: string[], column: number): string {
  const down = column === 0 ? 0 : 1
  const up = lines.length - 1 + down
  return `${down === 0 ? '' : '\n'}${lines.join('\n')}${up === 0 ? '' : `${CSI}${up}A`}\r${column === 0 ? '' : `${CSI}${column}C`}`
}
