import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { listFolders, pathIsThere, readTextFile } from '../../src/files/prompt-files.js'
import { failing, withFaults } from '../support/faults.js'
import { tempDirectory } from '../support/temp.js'

let folder: string
const at = (name: string): string => join(folder, name)

beforeEach(() => {
  folder = tempDirectory()
})

test('a prompt file is read whole, also through a symlink', () => {
  writeFileSync(at('a.md'), 'grüße')
  symlinkSync('a.md', at('b.md'))
  for (const name of ['a.md', 'b.md'])
    expect(readTextFile(at(name), 100)).toEqual({ text: 'grüße', bytes: 7, cut: 0 })
})

test('a prompt file over the limit is cut, and the result says by how much', () => {
  writeFileSync(at('a.md'), '0123456789')
  expect(readTextFile(at('a.md'), 4)).toEqual({ text: '0123', bytes: 10, cut: 6 })
  expect(readTextFile(at('a.md'), 0)).toEqual({ text: '', bytes: 10, cut: 10 })
  expect(readTextFile(at('a.md'), 10)).toEqual({ text: '0123456789', bytes: 10, cut: 0 })
})

test('a prompt file larger than memory is read up to the limit', () => {
  writeFileSync(at('a.md'), 'head')
  truncateSync(at('a.md'), 2 ** 42)
  expect(readTextFile(at('a.md'), 4)).toEqual({ text: 'head', bytes: 2 ** 42, cut: 2 ** 42 - 4 })
})

describe('a prompt file is ignored if it is', () => {
  test('missing', () => {
    expect(readTextFile(at('a.md'), 4)).toBeUndefined()
    expect(readTextFile(at('a/b.md'), 4)).toBeUndefined()
    expect(pathIsThere(at('a.md'))).toBe(false)
    expect(listFolders(at('skills'))).toEqual([])
  })

  test('a FIFO, which is never waited for', () => {
    execFileSync('mkfifo', [at('a.md')])
    expect(readTextFile(at('a.md'), 4)).toBeUndefined()
  })

  test('a directory, a broken symlink, a symlink to itself, or below a file', () => {
    mkdirSync(at('dir.md'))
    symlinkSync('nowhere', at('nowhere.md'))
    symlinkSync('loop.md', at('loop.md'))
    writeFileSync(at('file'), '')
    for (const name of ['dir.md', 'nowhere.md', 'loop.md', 'file/a.md'])
      expect(readTextFile(at(name), 4), name).toBeUndefined()
    expect(pathIsThere(at('loop.md'))).toBe(false)
    expect(listFolders(at('file'))).toEqual([])
  })

  test.each(['prompt.stat', 'prompt.read'])('unreadable (%s)', (point) => {
    writeFileSync(at('a.md'), 'x')
    withFaults(failing('EACCES', (operation) => operation.point === point))
    expect(readTextFile(at('a.md'), 4)).toBeUndefined()
  })
})

test('folders are listed in order of name', () => {
  for (const name of ['b', 'a', 'c']) mkdirSync(at(name))
  expect(listFolders(folder)).toEqual(['a', 'b', 'c'])
})
