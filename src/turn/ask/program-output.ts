/** The end of what an agent program printed, for its log. The size is bounded. */
import { limits } from '../../limits.js'
import type { NewRecord } from '../../session/records.js'

type Stream = NewRecord<'program.output'>['stream']

export class ProgramOutput {
  private readonly ends: Record<Stream, End> = {
    stdout: new End(limits.replyBytesMax),
    stderr: new End(limits.stderrBytesKept),
  }

  add(stream: Stream, text: string): void {
    this.ends[stream].add(Buffer.from(text))
  }

  /** The records of the output since the last call. */
  take(run_id: string): NewRecord<'program.output'>[] {
    const streams: Stream[] = ['stdout', 'stderr']
    return streams.flatMap((stream) => {
      const { content, left_out } = this.ends[stream].take()
      if (content === '') return []
      const cut = left_out === 0 ? {} : { left_out }
      return [{ kind: 'program.output' as const, run_id, stream, content, ...cut }]
    })
  }
}

/** The last `max` bytes of a text that comes in pieces. */
class End {
  private pieces: Buffer[] = []
  private bytes = 0
  private left = 0

  constructor(private readonly max: number) {}

  add(piece: Buffer): void {
    this.pieces.push(piece)
    this.bytes += piece.length
    while (this.bytes - (this.pieces[0]?.length ?? 0) >= this.max) this.drop(this.pieces.shift() as Buffer)
  }

  take(): { content: string; left_out: number } {
    const whole = Buffer.concat(this.pieces)
    const from = characterFrom(whole, Math.max(0, whole.length - this.max))
    const left_out = this.left + from
    this.pieces = []
    this.bytes = 0
    this.left = 0
    return { content: whole.toString('utf8', from), left_out }
  }

  private drop({ length }: Buffer): void {
    this.bytes -= length
    this.left += length
  }
}

/** The first UTF-8 character that begins at or after the offset. */
function characterFrom(bytes: Buffer, offset: number): number {
  let at = offset
  while (at < bytes.length && ((bytes[at] as number) & 0xc0) === 0x80) at += 1
  return at
}
