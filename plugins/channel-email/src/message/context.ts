/** The facts of a mail that an answer to it needs. substrat stores them with the message. */

export interface MailContext {
  subject: string
  /** Undefined for a mail without one. */
  messageId: string | undefined
  /** The mails before it, the first one first. */
  references: string[]
}

/** substrat stores at most 4096 characters. */
const CHARACTERS_MAX = 4000
const SUBJECT_CHARACTERS_MAX = 300
const REFERENCES_MAX = 50

export function contextOf({ subject, messageId, references }: MailContext): string {
  const short = subject
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, SUBJECT_CHARACTERS_MAX)
    .replace(/[\ud800-\udbff]$/, '')
  // The first one names the thread, and the latest ones are the nearest.
  const [first, ...others] = references
  const kept = others.slice(-REFERENCES_MAX)
  for (;;) {
    const list = first === undefined ? [] : [first, ...kept]
    const text = JSON.stringify({ subject: short, messageId, references: list })
    if (text.length <= CHARACTERS_MAX || kept.length === 0) return text
    kept.shift()
  }
}

/** A message from before the channel has no context. */
export function readContext(text: string | undefined): MailContext {
  const { subject, messageId, references } = JSON.parse(text ?? '{}') as Partial<MailContext>
  return { subject: subject ?? '', messageId, references: references ?? [] }
}
