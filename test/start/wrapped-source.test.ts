import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { crc32 } from '../../src/start/crc32.js'
import { WrappedSource } from '../../src/start/wrapped-source.js'
import { tempDirectory } from '../support/temp.js'

describe('the source of a module', () => {
  let file: string
  beforeEach(() => {
    file = join(tempDirectory(), 'module.cjs')
  })

  test.each(['exports.word = "here" // at the end', 'exports.word = "ä€😀"', ''])(
    'is a function with the parameters of Node: %s',
    (text) => {
      writeFileSync(file, text)
      const source = WrappedSource.read(file, 'utf8')
      expect(source.text).toBe(`(function (exports, require, module, __filename, __dirname) {${text}\n})`)
      expect(source.crc).toBe(crc32(text))
      expect(source.startsWith(text)).toBe(true)
    },
  )

  test('stays as it is when its memory serves for other files', () => {
    writeFileSync(file, 'exports.first = 1')
    const source = WrappedSource.read(file, 'latin1')
    const { text } = source
    const other = join(tempDirectory(), 'other')
    for (const content of ['short', 'x'.repeat(200), '', 'short again']) {
      writeFileSync(other, content)
      expect(source.readInItsMemory(other).toString()).toBe(content)
    }
    // The kernel says no size.
    expect(source.readInItsMemory('/proc/self/comm').length).toBeGreaterThan(1)
    source.releaseMemory()
    expect(source.readInItsMemory(other).toString()).toBe('short again')
    expect(source.text).toBe(text)
    expect(() => source.readInItsMemory(join(other, 'missing'))).toThrow('ENOTDIR')
  })
})
