/** The texts of one response. A server may send each in pieces, whole, or both. */
import { failure } from '../failure.js'

/** A message of a response, as far as its server names it. */
export interface MessageNames {
  item?: string
  place?: number | undefined
}

export interface Message {
  item: string
  place: number | undefined
  text: string
  parts: Map<number, string>
  isDone: boolean
  /** Its position among the messages. */
  at: number
}

export class Messages {
  private readonly all: Message[] = []

  /** The message of a piece. Some servers name none, or give each piece another id. */
  of({ item = '', place }: MessageNames): Message {
    const named = item === '' ? undefined : this.all.find((message) => message.item === item)
    const here = this.all.findLast((message) => !message.isDone && message.place === place)
    return named ?? here ?? this.begin({ item, place })
  }

  /** The message of a whole item. Throws `invalid_response` if it could be one that is open under other names. */
  ofWhole(names: MessageNames, whole: string): Message {
    const open = this.all.filter((message) => !message.isDone && message.text !== '')
    const found = this.of(names)
    if (found.text === '' && open.some((message) => message.text === whole))
      throw failure('invalid_response', "the model's text was sent twice, under different names")
    return found
  }

  begin({ item = '', place }: MessageNames, others?: Set<Message>): Message {
    const known = item === '' ? undefined : this.all.find((message) => message.item === item)
    if (known !== undefined && others?.has(known) !== true) return known
    const message = { item, place, text: '', parts: new Map(), isDone: false, at: this.all.length }
    this.all.push(message)
    return message
  }

  /** The message that the end of the response repeats. Two messages of that end are never one, although their texts may be. */
  repeated(item: string, text: string, known: Set<Message>): Message {
    const left = this.all.filter((message) => !known.has(message))
    const byId = item === '' ? undefined : left.find((message) => message.item === item)
    const found =
      byId ??
      left.find((message) => message.text !== '' && agree(message.text, text)) ??
      this.begin({ item }, known)
    known.add(found)
    return found
  }
}

export function addPiece(message: Message, part: number, piece: string): string {
  message.parts.set(part, (message.parts.get(part) ?? '') + piece)
  message.text += piece
  return piece
}

/** A whole part of a message. Returns what has not come yet. */
export function completePart(message: Message, part: number, whole: string): string {
  const known = message.parts.get(part) ?? ''
  return whole.startsWith(known) ? addPiece(message, part, whole.slice(known.length)) : ''
}

/** A whole message. Returns what has not come yet. Throws `invalid_response` if the pieces were others. */
export function completeText(message: Message, whole: string): string {
  message.isDone = true
  if (whole.startsWith(message.text)) {
    const rest = whole.slice(message.text.length)
    message.text = whole
    return rest
  }
  if (whole === '' || agree(message.text, whole)) return ''
  throw failure('invalid_response', "the model's text was sent in two versions")
}

/** Whether one text begins with the other, or they differ only in white space. */
function agree(a: string, b: string): boolean {
  return a.startsWith(b) || b.startsWith(a) || a.replaceAll(/\s+/g, '') === b.replaceAll(/\s+/g, '')
}
