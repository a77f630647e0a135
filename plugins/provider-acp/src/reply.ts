/** The reply of a turn: the agent's last message. Earlier messages, between tool calls, are only shown. */
export class Reply {
  private pieces: string[] = []
  private bytes = 0
  private messageId: string | undefined
  private isEnded = false
  private lastSaid = ''
  /** The reply exceeded the limit and was truncated. */
  isCut = false

  constructor(private readonly bytesMax: number) {}

  add(text: string, messageId: string | undefined): void {
    if (this.isEnded || messageId !== this.messageId) this.begin()
    this.messageId = messageId
    const bytes = Buffer.byteLength(text)
    if (this.bytes + bytes <= this.bytesMax) this.pieces.push(text)
    else {
      const room = Math.max(0, this.bytesMax - this.bytes)
      // Drop a character that the limit cuts in half.
      const part = Buffer.from(text)
        .subarray(0, room)
        .toString('utf8')
        .replace(/\ufffd$/, '')
      if (!this.isCut) this.pieces.push(part)
      this.isCut = true
    }
    this.bytes += bytes
  }

  /** Any later text begins a new message. */
  end(): void {
    this.isEnded = true
  }

  get text(): string {
    const text = this.pieces.join('')
    return text.trim() === '' ? this.lastSaid : text
  }

  private begin(): void {
    this.lastSaid = this.text
    this.pieces = []
    this.bytes = 0
    this.isEnded = false
    this.isCut = false
  }
}
