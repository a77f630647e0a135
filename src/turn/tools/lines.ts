/** A stream in lines, each bounded: of one that is too long no more than its ends are held. */
import type { Readable } from 'node:stream'

export interface Line {
  /** With its LF, which the last one gets where it lacks it; of a line that is too long its beginning. */
  bytes: Buffer
  /** Bytes that were left out, and the end behind them; 0 and empty of a whole line. */
  left: number
  tail: Buffer
}

const END_BYTES = 1024
const LF = 0x0a

/** Split on LF alone: JSON may have any other end of line within it. */
export async function* linesOf(
  stream: Readable,
  bytesMax: number = Number.POSITIVE_INFINITY,
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
