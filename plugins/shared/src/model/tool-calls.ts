/**
 * Assembles the tool calls of one response from their pieces, for all APIs. Calls are returned only after the response has ended: a
 * call truncated by the token limit can look complete, and must not run.
 *
 * Invariants:
 * - Calls are distinguished by their call id, then by their item id. An index alone never joins the pieces of two calls.
 * - A piece that could belong to two calls belongs to none. Then the response fails, unless each call was also sent whole.
 * - No call is returned that the model did not make.
 * - A response holds at most CALLS_MAX calls and INPUT_CHARACTERS_MAX of input. Exceeding either fails it at once.
 */
import type { ToolCall } from 'substrat/provider'
import { failure } from '../failure.js'
import { contradict, isBlank, readArguments } from './call-arguments.js'
import {
  type CallNames,
  isAt,
  isOpen,
  isRepeat,
  isTwin,
  mayGetPieceOf,
  newCall,
  type PartialCall,
  sentOf,
} from './partial-call.js'

/** The limits of substrat (src/limits.ts). */
const CALLS_MAX = 128
const WORD_CHARACTERS_MAX = 256
const INPUT_CHARACTERS_MAX = 16 * 1024 * 1024

export class ToolCalls {
  private readonly calls: PartialCall[] = []
  private characters = 0
  /** Why a piece belongs to no call. */
  private stray: string | undefined

  get count(): number {
    return this.calls.length
  }

  /** Begins a call, for an API that announces each one. Text continues with pieces, and an object is whole. */
  start(names: CallNames, name: string, input: unknown = ''): PartialCall {
    const { call_id = '', item = '', place } = names
    if (this.calls.length === CALLS_MAX)
      throw failure('invalid_response', `the model called more than ${CALLS_MAX} tools in one response`)
    const isOpenTwice = this.calls.some((call) => call_id !== '' && call.call_id === call_id && isOpen(call))
    if (isOpenTwice) this.stray ??= `two calls with the id ${call_id} are open at once`
    const call = newCall({ call_id, item, place }, name)
    call.isAnnouncedTwice = this.calls.some((one) => mayGetPieceOf(one, call))
    this.calls.push(call)
    this.extend(call, input)
    return call
  }

  /** A piece of an announced call. */
  append(names: CallNames, piece: unknown): void {
    const found = this.owner(names)
    if (found !== undefined && (isBlank(piece) || !found.text.isEnded)) this.extend(found, piece)
    else if (!isBlank(this.counted(piece)))
      this.stray ??= 'a piece of arguments names no call, or more than one'
  }

  /** The response fails, unless each call is also sent whole. */
  refuse(why: string): void {
    this.stray ??= why
  }

  /** No further piece belongs to the calls at this place. */
  closeAt(place: number | undefined): void {
    for (const call of this.calls) if (call.place === place) call.isClosed = true
  }

  /** A piece that begins a call or continues one, for an API that does not say which. Without an id, only a name begins a call. */
  take(names: CallNames, name: string, piece: unknown): void {
    if ((names.call_id ?? '') === '' && name === '') this.append(names, piece)
    else this.takeNamed(names, name, piece)
  }

  private takeNamed(names: CallNames, name: string, piece: unknown): void {
    const { call_id = '', place } = names
    const all = this.calls.filter((call) => (call_id === '' ? isAt(call, place) : call.call_id === call_id))
    const here = all.filter((call) => isAt(call, place))
    const areWhole = all.every((call) => !isOpen(call))
    // A piece without a name continues the call with its id, wherever that is.
    const [call] = here.length === 0 && name === '' ? all : here
    const isNamed = call !== undefined && (name === '' || name === call.name || call.name === '')
    const isFirst = all.length === 0 || (here.length === 0 && name !== '' && areWhole)
    // Each of the calls here is whole, so this is the beginning of another one.
    const isRepeated = call_id === '' && here.some((one) => isRepeat(one, name, piece))
    const isNext = areWhole && name !== '' && !isBlank(piece) && !isRepeated
    if (!isFirst && call_id !== '' && here.length <= 1 && isNamed) {
      call.name ||= name
      call.isAnnouncedTwice ||= name !== '' && isBlank(piece) && isOpen(call)
      this.continueCall(call, piece)
    } else if (isFirst || isNext) this.start(names, name, piece)
    else if (this.counted(piece) !== undefined || name !== '')
      this.stray ??= `the calls of ${name || 'a tool'} have no ids that distinguish them`
  }

  /** The arguments of an announced call, whole. */
  takeWhole(names: CallNames, whole: unknown): void {
    const found = this.owner(names, ({ isClosed }) => !isClosed)
    if (found !== undefined) this.settle(found, whole)
    else if (!isBlank(whole)) this.stray ??= 'the arguments of a call name no call, or more than one'
  }

  /** A whole call. Returns true if it is a new one. */
  takeItem(names: CallNames, name: string, input: unknown): boolean {
    const found = this.itemOf(names, name, input)
    if (found !== 'repeated') this.complete(found ?? this.start(names, name), names, name, input)
    return found === undefined
  }

  /**
   * All calls of the response, as its end repeats them. Returns those that are new. Some gateways give them other ids there: then
   * the name and the arguments tell which call is meant.
   */
  takeAll<T extends { names: CallNames; name: string; input: unknown }>(items: T[]): T[] {
    const own = new Set(this.calls)
    const unknown: T[] = []
    for (const item of items) {
      const byId = [...own].find((call) => item.names.call_id && call.call_id === item.names.call_id)
      const found = byId ?? [...own].find((call) => isRepeat(call, item.name, item.input))
      if (found === undefined) unknown.push(item)
      else {
        own.delete(found)
        this.complete(found, {}, item.name, item.input)
      }
    }
    if (unknown.length > 0 && own.size > 0)
      this.conflict('the end of the response has other calls than its stream')
    for (const { names, name, input } of unknown) this.complete(this.start(names, name), names, name, input)
    return unknown
  }

  hasOpenAt(place: number): boolean {
    return this.calls.some((call) => call.place === place && isOpen(call))
  }

  /** Whether this announcement repeats that of a call, or follows a call that was sent whole. */
  repeats({ call_id = '', item = '', place }: CallNames, name: string): boolean {
    const isSame = (call: PartialCall): boolean =>
      call.item === item || (call_id !== '' && call.isDone && call.place === place)
    const same = this.calls.filter((call) => call.call_id === call_id && call.name === name && isSame(call))
    for (const call of same.filter(isOpen)) {
      call.isAnnouncedTwice = true
      // Another call could begin here, and may have no arguments of its own.
      if (!isBlank(call.pieces)) this.stray ??= `a call of ${name} was announced again after its first pieces`
    }
    return same.length > 0
  }

  /**
   * Throws `invalid_response` if it is not certain which calls the model made. `cut`: why the response may have ended in the middle
   * of its last call. `needsEnd`: the API says when a call is whole.
   */
  finish(cut: string | undefined, needsEnd: boolean): ToolCall[] {
    const isWhole = this.calls.length > 0 && this.calls.every(({ isDone }) => isDone)
    if (this.stray !== undefined && !isWhole) this.conflict(this.stray)
    const ids = new Set<string>()
    return this.calls.map((call, index) => {
      const { name } = call
      const cutHere = index === this.calls.length - 1 ? cut : undefined
      if (name === '') this.conflict('one of them has no name')
      if (needsEnd && !call.isClosed && cutHere === undefined && isBlank(call.pieces))
        this.conflict(`the arguments of ${name} did not come`)
      if (this.calls.slice(0, index).some((one) => isTwin(one, call)))
        this.conflict(`the call of ${name} with the id ${call.call_id} was sent twice`)
      if (name.length > WORD_CHARACTERS_MAX)
        throw failure('invalid_response', `the model called a tool whose name has ${name.length} characters`)
      const isUsable = call.call_id !== '' && call.call_id.length <= WORD_CHARACTERS_MAX
      const call_id = isUsable && !ids.has(call.call_id) ? call.call_id : unusedId(index, ids)
      ids.add(call_id)
      return { call_id, name, ...this.inputOf(call, cutHere) }
    })
  }

  private inputOf(call: PartialCall, cut: string | undefined): Pick<ToolCall, 'input' | 'arguments_error'> {
    if (contradict(call.whole, call.pieces))
      this.conflict(`the arguments of ${call.name} were sent in two versions`)
    const sent = sentOf(call)
    const read = readArguments(sent)
    // A call that was cut off before its arguments looks like a call without any.
    if (cut !== undefined && ('error' in read || isBlank(sent)))
      return { input: {}, arguments_error: { message: cut, text: String(sent) } }
    return 'error' in read ? { input: {}, arguments_error: read.error } : read
  }

  /** The one call that a piece without a new beginning can belong to. The whole arguments may follow the last piece. */
  private owner({ call_id = '', item = '', place }: CallNames, canTake = isOpen): PartialCall | undefined {
    const named = this.calls.filter((call) =>
      call_id !== '' ? call.call_id === call_id : item !== '' ? call.item === item : isAt(call, place),
    )
    const narrowed = named.length > 1 ? named.filter((call) => isAt(call, place)) : named
    const open = narrowed.filter(canTake)
    if (open.length === 1) return open[0]
    // A late piece of a call that was sent whole.
    return narrowed.length === 1 && narrowed[0]?.whole !== undefined ? narrowed[0] : undefined
  }

  /** The announced call that a whole item completes. */
  private itemOf(names: CallNames, name: string, input: unknown): PartialCall | 'repeated' | undefined {
    const { call_id = '', item = '', place } = names
    const isId = (call: PartialCall): boolean =>
      call_id === '' || call.call_id === '' || call.call_id === call_id
    const isItem = (call: PartialCall): boolean => item === '' || call.item === item
    const named = this.calls.filter((call) =>
      call_id + item === ''
        ? call.call_id + call.item === '' && isAt(call, place) && call.name === name
        : isId(call) && (isItem(call) || call.call_id === call_id),
    )
    const undone = named.filter(({ isDone }) => !isDone)
    const exact = undone.filter(isItem)
    const candidates = exact.length > 0 ? exact : undone
    const open = candidates.length > 1 ? candidates.filter((call) => isAt(call, place)) : candidates
    if (open.length === 1) return open[0]
    if (open.length > 1) this.conflict(`the calls of ${name} have no ids that distinguish them`)
    const repeated = named.filter((call) => isRepeat(call, name, input))
    if (repeated.some((call) => call.call_id === call_id)) return 'repeated'
    const isNameless = call_id + item === ''
    // Without a name, only the arguments could tell whether it completes a call at another place.
    const elsewhere = this.calls.filter((call) => !call.isDone && isRepeat(call, name, input))
    if (repeated.length > 0 || (isNameless && elsewhere.length > 0))
      this.conflict(`a call of ${name} was sent twice, with different names or none`)
    if (named.some((call) => item !== '' && call.item === item && call.call_id === call_id))
      this.conflict(`a call of ${name} was sent in two versions`)
    return undefined
  }

  private complete(call: PartialCall, { call_id, item }: CallNames, name: string, input: unknown): void {
    call.call_id ||= call_id ?? ''
    call.item ||= item ?? ''
    // The announcement may have been of another name: the whole item decides.
    if (call.isDone && name !== '' && call.name !== name)
      this.conflict(`the call of ${name} was sent with two names`)
    call.name = name || call.name
    call.isDone = true
    this.settle(call, input)
  }

  private settle(call: PartialCall, whole: unknown): void {
    if (contradict(call.whole, whole))
      this.conflict(`the arguments of ${call.name} were sent in two versions`)
    if (!isBlank(whole)) call.whole = this.counted(whole, call)
    call.isClosed = true
  }

  /** A further piece of a call that its id names. Some servers repeat the whole call at the end. */
  private continueCall(call: PartialCall, piece: unknown): void {
    if (isOpen(call)) this.extend(call, piece)
    else if (!isBlank(piece) && !isRepeat(call, call.name, piece))
      this.stray ??= `two calls have the id ${call.call_id}`
  }

  private extend(call: PartialCall, piece: unknown): void {
    if (typeof piece === 'string') {
      // Each of two calls with the same names begins with a brace.
      if (call.isAnnouncedTwice && !isBlank(call.pieces) && piece.trimStart().startsWith('{'))
        this.stray ??= `a call of ${call.name} was announced twice, and its arguments may be those of two`
      call.pieces += this.counted(piece, call, call.pieces.length)
      call.text.add(piece)
    } else if (piece !== undefined && piece !== null) this.settle(call, piece)
  }

  /** Arguments that are stated again count once. */
  private counted<T>(sent: T, call = { length: 0 }, before = 0): T {
    const length = before + (typeof sent === 'string' ? sent.length : (JSON.stringify(sent) ?? '').length)
    this.characters += Math.max(0, length - call.length)
    call.length = Math.max(call.length, length)
    if (this.characters <= INPUT_CHARACTERS_MAX) return sent
    const why = `inputs of more than ${INPUT_CHARACTERS_MAX} characters in one response`
    throw failure('invalid_response', `the model called tools with ${why}`)
  }

  private conflict(why: string): never {
    throw failure('invalid_response', `the model's tool calls cannot be distinguished: ${why}`)
  }
}

/** Some servers send no id, or the same for all calls. */
function unusedId(index: number, ids: Set<string>): string {
  let id = `call_${index}`
  while (ids.has(id)) id += '_'
  return id
}
