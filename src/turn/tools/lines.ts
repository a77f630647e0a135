/** Splits a stream into lines of bounded length. Only the two ends of a longer line stay in memory. */
import type { Readable } from 'node:stream'

export interface Line {
  /** The line with its LF, which is added to an unterminated last line. For a line that is too long: its beginning. */
  bytes: Buffer
  /** The length of a line that is too long, in bytes; 0 for a whole line. */
  left: number
  /** The end of a line that is too long; empty for a whole line. */
  tail: Buffer
}

const END_BYTES = 1024
const LF = 0x0a

/**
 * Splits on LF only: JSON may contain any other line separator. `onLong` gets each piece's line that is too long already, before
 * its end.
 */
export async function* linesOf(
  stream: Readable,
  bytesMax: number = Number.POSITIVE_INFINITY,
  onLong?: (line: Line) => void,
): AsyncGenerator<Line> {
  let gathered = new Gathered(bytesMax)
  for await (const piece of stream as AsyncIterable<Buffer>) {
    let from = 0
    for (let at = piece.indexOf(LF); at !== -1; at = piece.indexOf(LF, from)) {
      gathered.add(piece.subarray(from, at + 1))
      yield gathered.line()
      gathered = new Gathered(bytesMax)
      from = at + 1
    }
    if (from < piece.length) gathered.add(piece.subarray(from))
    if (gathered.isTooLong) onLong?.(gathered.line())
  }
  if (gathered.isEmpty) return
  gathered.add(Buffer.of(LF))
  yield gathered.line()
}

class Gathered {
  private pieces: Buffer[] = []
  private bytes = 0
  private left = 0
  private tail: Buffer = Buffer.alloc(0)

  constructor(private readonly bytesMax: number) {}

  get isEmpty(): boolean {
    return this.bytes === 0
  }

  get isTooLong(): boolean {
    return this.left > 0
  }

  add(piece: Buffer): void {
    this.bytes += piece.length
    if (this.bytes <= this.bytesMax) {
      this.pieces.push(piece)
      return
    }
    if (this.left === 0) {
      const begun = Buffer.concat(this.pieces)
      this.pieces = [Buffer.from(begun.subarray(0, END_BYTES))]
      this.left = begun.length
    }
    this.left += piece.length
    this.tail = Buffer.concat([this.tail, piece.subarray(-END_BYTES)]).subarray(-END_BYTES)
  }

  line(): Line {
    return { bytes: Buffer.concat(this.pieces), left: this.left, tail: this.tail }
  }
}
