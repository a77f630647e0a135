import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sha256Hex } from '../../src/start/hash.js'

const ofNode = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')

test('a hash equals that of node:crypto for any content', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => sha256Hex(text) === ofNode(Buffer.from(text))),
  )
  fc.assert(fc.property(fc.uint8Array(), (bytes) => sha256Hex(bytes) === ofNode(bytes)))
})

test.each([0, 55, 56, 64, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1, 300_000])('also of %i bytes', (size) => {
  const bytes = Buffer.alloc(size, 'ü§')
  expect(sha256Hex(bytes)).toBe(ofNode(bytes))
})
