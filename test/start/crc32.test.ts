import { crc32 as ofNode } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { crc32 } from '../../src/start/crc32.js'

afterEach(() => {
  vi.restoreAllMocks()
  vi.resetModules()
})

function expectAsInNode(checksum: typeof crc32): void {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => checksum(text) === ofNode(text)))
  fc.assert(fc.property(fc.uint8Array(), (bytes) => checksum(bytes, 7) === ofNode(bytes, 7)))
}

test('a checksum equals that of node:zlib for any content', () => {
  expectAsInNode(crc32)
})

test.each([
  [
    'refuses its binding',
    () => {
      throw new Error('refused')
    },
  ],
  ['has no such function', () => ({})],
  ['has another function of that name', () => ({ crc32: () => 0 })],
])('also where Node %s', async (_, binding) => {
  vi.spyOn(process as never as { binding(): unknown }, 'binding').mockImplementation(binding)
  vi.resetModules()
  const again = await import('../../src/start/crc32.js')
  expect(again.crc32).not.toBe(crc32)
  expectAsInNode(again.crc32)
})
