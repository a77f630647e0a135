/**
 * The live text of messages that have no record yet. Clients cannot take text back, so once the record
 * of a message is there, they get only the rest of its text.
 */
export class LiveText {
  private readonly spoken = new Map<string, string>()

  add(messageId: string, text: string): void {
    this.spoken.set(messageId, (this.spoken.get(messageId) ?? '') + text)
  }

  /** The rest of the message, now that its record has all of it. */
  rest(messageId: string, text: string): string {
    const spoken = this.spoken.get(messageId) ?? ''
    this.spoken.delete(messageId)
    return text.slice(overlap(spoken, text))
  }
}

/**
 * The length of the longest end of `said` with which `text` begins. The live text of an agent program has its earlier messages too,
 * which its record has not.
 */
function overlap(said: string, text: string): number {
  const end = said.slice(-text.length)
  // Knuth, Morris and Pratt: linear also for a text of megabytes that repeats itself.
  const border = new Uint32Array(text.length)
  for (let at = 1, length = 0; at < text.length; at += 1) {
    while (length > 0 && text[at] !== text[length]) length = border[length - 1] as number
    if (text[at] === text[length]) length += 1
    border[at] = length
  }
  let length = 0
  for (const character of end.split('')) {
    while (length > 0 && (length === text.length || character !== text[length]))
      length = border[length - 1] as number
    if (character === text[length]) length += 1
  }
  return length
}
