/** One call of a response, from its pieces. */
import { areSame, isBlank, ObjectText } from './call-arguments.js'

/** The names of a call in its pieces. Servers omit each of these, or give several calls the same. */
export interface CallNames {
  call_id?: string
  item?: string
  /** The index of the call, or of the part of the response. */
  place?: number | undefined
}

/** One call of a response, as far as it has come. */
export interface PartialCall {
  call_id: string
  item: string
  place: number | undefined
  name: string
  /** The pieces so far. */
  pieces: string
  text: ObjectText
  /** The arguments as one text or object, if the server sent them so. */
  whole: unknown
  /** No further piece belongs to it. */
  isClosed: boolean
  /** A whole item named it. */
  isDone: boolean
  /** A further announcement may be that of another call, to which a piece can belong. */
  isAnnouncedTwice: boolean
  /** The length of its arguments: its pieces, the whole item and the end of the response may each state them. */
  length: number
}

export function newCall(names: Pick<PartialCall, 'call_id' | 'item' | 'place'>, name: string): PartialCall {
  const state = { pieces: '', text: new ObjectText(), whole: undefined, isClosed: false, length: 0 }
  return { ...names, name, ...state, isDone: false, isAnnouncedTwice: false }
}

/** A piece without an index, or a call that began without one, may be anywhere. */
export function isAt(call: PartialCall, place: number | undefined): boolean {
  return place === undefined || call.place === undefined || call.place === place
}

export function isOpen(call: PartialCall): boolean {
  return !call.isClosed && !call.text.isEnded
}

/** Whether a call is the same as one that is known. */
export function isRepeat(call: PartialCall, name: string, input: unknown): boolean {
  return call.name === name && areSame(sentOf(call), input)
}

export function sentOf({ whole, pieces }: PartialCall): unknown {
  return isBlank(whole) ? pieces : whole
}

/** Whether a later piece can be that of an earlier call: it has the same id, or was closed at this place before its arguments came. */
export function mayGetPieceOf(earlier: PartialCall, call: PartialCall): boolean {
  if (call.call_id !== '' && earlier.call_id === call.call_id) return true
  const isEmpty = earlier.isClosed && !earlier.text.isEnded && earlier.whole === undefined
  return isEmpty && isAt(earlier, call.place)
}

/** Whether two calls have the same id and the same arguments: one of them may be a repetition. */
export function isTwin(a: PartialCall, b: PartialCall): boolean {
  return a.call_id !== '' && a.call_id === b.call_id && isRepeat(a, b.name, sentOf(b))
}
