/** The reply of a turn: the agent's last message. What it said before that, between its tool calls, was for watching. */
export class Reply {
  private pieces: string[] = []
  private bytes = 0
  private messageId: string | undefined
  private isEnded = false
  private lastSaid = ''
  /** It was longer than substrat takes, and has lost its end. */
  isCut = false

  constructor(private readonly bytesMax: number) {}

  add(text: string, messageId: string | undefined): void {
    if (this.isEnded || messageId !== this.messageId) this.begin()
    this.messageId = messageId
    const bytes = Buffer.byteLength(text)
    if (this.bytes + bytes <= this.bytesMax) this.pieces.push(text)
    else {
      const room = Math.max(0, this.bytesMax - this.bytes)
      // Half of a character at the end is not said at all.
      const part = Buffer.from(text)
        .subarray(0, room)
        .toString('utf8')
        .replace(/\ufffd$/, '')
      if (!this.isCut) this.pieces.push(part)
      this.isCut = true
    }
    this.bytes += bytes
  }

  /** Whatever comes now is another message. */
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
