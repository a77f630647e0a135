/**
 * Finds a text in the bytes of logs and blobs, before any line is parsed. A log has it as JSON writes it, a blob as it is or as
 * JSON. A hit may be the name of a field, so the caller parses the line and looks again.
 */
import type { Needle } from '../parts.js'

export interface Finder {
  /** A match is at most this long. */
  readonly bytesMax: number
  /** The place of the first match at or after `from`; -1 if there is none. */
  find(bytes: Buffer, from: number): number
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
const ASCII = /^[\x00-\x7f]*$/

export function finderOf({ text, ignoresCase }: Needle): Finder {
  const forms = [...new Set([JSON.stringify(text).slice(1, -1), text])]
  // A character has at most 12 bytes, as a pair of JSON escapes.
  const bytesMax = text.length * 12
  const foldsCase = ignoresCase && text.toUpperCase() !== text
  if (!foldsCase && !SEPARATORS.test(text))
    return { bytesMax, find: findsFirst([...new Set(forms.flatMap((form) => [form, ...asciiOf(form)]))]) }
  if (forms.length === 1 && ASCII.test(text) && text.length >= SKIPPING_BYTES_MIN)
    return { bytesMax, find: findsSkipping(Buffer.from(text)) }
  const sources = forms.map((form) => [...form].map((each) => bytesOf(each, foldsCase)).join(''))
  return { bytesMax, find: findsIn(new RegExp(sources.join('|'), foldsCase ? 'gi' : 'g'), bytesMax) }
}

/** A log has them escaped, although its JSON is UTF-8. */
const SEPARATORS = /[\u2028\u2029]/

/** The form of a JSON encoder that writes only ASCII, with digits in each case. */
function asciiOf(form: string): string[] {
  const inCase = (change: (digits: string) => string): string =>
    form.replace(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
      /[^\x00-\x7f]/g,
      (unit) => `\\u${change(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`,
    )
  return [inCase((digits) => digits), inCase((digits) => digits.toUpperCase())]
}

/** The first place of one of the texts. Keeps the next place of each, so that a text that is nowhere is sought once. */
function findsFirst(texts: string[]): Finder['find'] {
  const [first, ...others] = texts.map((text) => ({ wanted: Buffer.from(text), at: -1, from: 0 }))
  if (first === undefined) return () => -1
  if (others.length === 0) return (bytes, from) => bytes.indexOf(first.wanted, from)
  const all = [first, ...others]
  let last: Buffer | undefined
  return (bytes, from) => {
    let least = -1
    for (const each of all) {
      const isKnown = bytes === last && from >= each.from && (each.at === -1 || each.at >= from)
      if (!isKnown) each.at = bytes.indexOf(each.wanted, from)
      each.from = isKnown ? each.from : from
      if (each.at !== -1 && (least === -1 || each.at < least)) least = each.at
    }
    last = bytes
    return least
  }
}

/** A shorter text skips too few bytes to be quicker than an expression. */
const SKIPPING_BYTES_MIN = 6

/**
 * ASCII in any case (Horspool): compares the last byte first, and skips as many bytes as that one permits. Needs no copy of the bytes.
 */
function findsSkipping(wanted: Buffer): Finder['find'] {
  const last = wanted.length - 1
  const [lower, upper] = [wanted.toString().toLowerCase(), wanted.toString().toUpperCase()].map((each) =>
    Buffer.from(each),
  ) as [Buffer, Buffer]
  // 0 for a last byte.
  const skips = new Int32Array(256).fill(wanted.length)
  for (let index = 0; index < last; index++)
    for (const byte of [lower[index], upper[index]]) skips[byte as number] = last - index
  const afterLast = skips[lower[last] as number] as number
  for (const byte of [lower[last], upper[last]]) skips[byte as number] = 0
  return (bytes, from) => {
    for (let end = from + last; end < bytes.length; ) {
      const skip = skips[bytes[end] as number] as number
      end += skip
      if (skip > 0) continue
      let left = last - 1
      let at = end - 1
      while (left >= 0 && (bytes[at] === lower[left] || bytes[at] === upper[left])) {
        left -= 1
        at -= 1
      }
      if (left < 0) return end - last
      end += afterLast
    }
    return -1
  }
}

/** Small enough for the part of V8's memory that is freed quickly. */
const SLICE_BYTES = 32 * 1024

/** Reads the bytes as text in slices that overlap by a match, and keeps the latest one for the next call. */
function findsIn(expression: RegExp, bytesMax: number): Finder['find'] {
  let slice: { bytes: Buffer | undefined; start: number; text: string } = {
    bytes: undefined,
    start: 0,
    text: '',
  }
  return (bytes, from) => {
    for (let at = from; at < bytes.length; at = slice.start + SLICE_BYTES) {
      const isIn = bytes === slice.bytes && at >= slice.start && at < slice.start + SLICE_BYTES
      // One character for each byte. The `i` of the expression then also folds bytes of other characters, which finds more.
      if (!isIn) slice = { bytes, start: at, text: bytes.toString('latin1', at, at + SLICE_BYTES + bytesMax) }
      expression.lastIndex = at - slice.start
      const found = expression.exec(slice.text)
      if (found !== null) return slice.start + found.index
    }
    return -1
  }
}

/** A regular expression for the bytes of a character: in UTF-8, or escaped by a JSON encoder that writes only ASCII. */
function bytesOf(character: string, foldsCase: boolean): string {
  if (ASCII.test(character)) return character.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const upper = character.toUpperCase()
  const cases = foldsCase ? [character, upper, upper.toLowerCase(), character.toLowerCase()] : [character]
  const forms = new Set(cases.flatMap((each) => [utf8(each), escaped(each)]))
  return `(?:${[...forms].join('|')})`
}

function utf8(text: string): string {
  return [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16)}`).join('')
}

function escaped(text: string): string {
  return Array.from({ length: text.length }, (_, index) => {
    const code = text.charCodeAt(index).toString(16).padStart(4, '0')
    return `\\\\u${code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`
  }).join('')
}
