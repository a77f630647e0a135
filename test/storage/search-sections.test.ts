/** Sections of logs and blobs, as the threads of a search read them. */
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import { finderOf } from '../../src/storage/log/needle.js'
import { type Found, type ReadAt, Searcher } from '../../src/storage/search/sections.js'
import { Random } from '../support/random.js'

const MB = 1024 * 1024
const finder = finderOf({ text: 'needle', ignoresCase: true })
const HASH = 'a1'.repeat(32)

/** A file, of which each read returns at most `readBytesMax` bytes. */
function reading(bytes: Buffer, readBytesMax = Number.POSITIVE_INFINITY): ReadAt {
  return (buffer, offset, position) =>
    bytes.copy(buffer, offset, position, Math.min(bytes.length, position + readBytesMax))
}

function inSections(bytes: Buffer, sectionBytes: number, isLog: boolean, read = reading(bytes)): Found[] {
  const searcher = new Searcher(finder)
  const starts = Array.from(
    { length: Math.ceil(bytes.length / sectionBytes) },
    (_, index) => index * sectionBytes,
  )
  return starts.map((from) =>
    searcher.search({ isLog, from, to: Math.min(bytes.length, from + sectionBytes) }, read),
  )
}

const linesIn = (bytes: Buffer, found: Found[]): string[] =>
  found.flatMap(({ places }) => places.map(({ start, end }) => bytes.toString('latin1', start, end)))

test('each way to find a text finds the first match, in bytes of any content', () => {
  const random = new Random(6)
  const texts = [
    'aab',
    'abaababa',
    'aababb',
    'aaaaaaaaab',
    'Abaababa',
    'bbbbbbbb',
    'äab',
    '数ab',
    '数数a',
    'a"b',
    '1"数',
  ]
  for (let run = 0; run < 400; run++) {
    const text = random.pick(texts)
    const ignoresCase = text === text.toLowerCase()
    const { find } = finderOf({ text, ignoresCase })
    // Long enough for several slices of an expression.
    const filling = run % 8 === 0 ? 'abAB'.repeat(random.below(40_000)) : ''
    const body = Array.from({ length: random.below(60) }, () => random.pick([...'aaabbbAB', '数', 'ä', text]))
    const content = `${filling}${body.join('')}`
    const bytes = Buffer.from(content)
    const at = (ignoresCase ? content.toLowerCase() : content).indexOf(text)
    const expected = at === -1 ? -1 : Buffer.byteLength(content.slice(0, at))
    expect(find(bytes, 0), `${text} in ${content.slice(-80)}`).toBe(expected)
    if (at !== -1) expect(find(bytes, expected)).toBe(expected)
    const ascii = Buffer.from(
      `${filling}1数"`.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`),
    )
    expect(finderOf({ text: '数', ignoresCase }).find(ascii, 0)).toBe(filling.length + 1)
  }
})

describe('the sections of a log', () => {
  test('have each line with the text or the name of a blob once, in order, wherever they begin', () => {
    const random = new Random(18)
    for (let run = 0; run < 60; run++) {
      const lines = Array.from({ length: 1 + random.below(12) }, (_, index) => {
        const filling = 'x'.repeat(random.below(40))
        const hit = ['', 'Needle', `"blob":"${HASH}"`, 'need'][random.below(4)]
        return `${index}${filling}${hit}${filling}\n`
      })
      const bytes = Buffer.from(`${lines.join('')}tail with needle`)
      const expected = lines.filter((line) => /needle|blob/i.test(line))
      for (const size of [1, 2, 7, 31, 100, 10_000])
        expect(linesIn(bytes, inSections(bytes, size, true, reading(bytes, 1 + random.below(20))))).toEqual(
          expected,
        )
    }
  })

  test('name the blob of a line', () => {
    const bytes = Buffer.from(`{"content":{"blob":"${HASH}","bytes":5}}\n`)
    expect(inSections(bytes, MB, true)[0]?.places).toEqual([{ start: 0, end: bytes.length, blob: HASH }])
  })

  test('leave out damage that is longer than any line, and have what follows', () => {
    const damage = 'y'.repeat(2 * limits.lineBytesMax + 2 * MB)
    const bytes = Buffer.from(`needle 1\n${damage} needle 2\nneedle 3\n`)
    for (const size of [MB, 64 * MB])
      expect(linesIn(bytes, inSections(bytes, size, true))).toEqual(['needle 1\n', 'needle 3\n'])
  })
})

describe('the sections of a blob', () => {
  test('find a text that crosses the end of a section or of a read', () => {
    for (const at of [0, 1, 95, 100, 194]) {
      const bytes = Buffer.from(`${'x'.repeat(at)}NEEDLE${'y'.repeat(200 - at)}`)
      for (const [size, readBytesMax] of [
        [100, 1000],
        [98, 3],
        [1, 50],
      ] as const) {
        const found = inSections(bytes, size, false, reading(bytes, readBytesMax))
        expect(found.some(({ isInBlob }) => isInBlob)).toBe(true)
      }
    }
    expect(inSections(Buffer.from('need le'.repeat(100)), 64, false).some(({ isInBlob }) => isInBlob)).toBe(
      false,
    )
  })
})

test.each([true, false])('the memory of a search does not grow with the file (a log: %s)', (isLog) => {
  const line = Buffer.from(`${'z'.repeat(limits.lineBytesMax - 1)}\n`)
  let largest = 0
  // A file of 1 GB whose lines are as long as possible.
  const read: ReadAt = (buffer, offset, position) => {
    largest = Math.max(largest, buffer.length)
    return line.copy(buffer, offset, position % line.length)
  }
  const searcher = new Searcher(finder)
  for (let from = 0; from < 1024 * MB; from += 64 * MB)
    expect(searcher.search({ isLog, from, to: from + 4 * MB }, read).places).toEqual([])
  expect(largest).toBeLessThanOrEqual(4 * limits.lineBytesMax)
})
