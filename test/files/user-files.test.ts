import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isDirectory, readUserBytes, readUserFile, writeUserFile } from '../../src/files/user-files.js'
import { failing, withFaults } from '../support/faults.js'
import { recordOperations } from '../support/operations.js'
import { tempDirectory } from '../support/temp.js'

test('a file of bytes is read up to its limit, also if it has no end', () => {
  const path = join(tempDirectory(), 'bytes')
  writeFileSync(path, Buffer.alloc(100_000, 7))
  expect(Buffer.alloc(100_000, 7).equals(readUserBytes(path, 100_000) as Buffer)).toBe(true)
  expect(() => readUserBytes(path, 99_999)).toThrow('is larger than 99999 bytes')
  expect(() => readUserBytes('/dev/zero', 100_000)).toThrow('/dev/zero is larger than 100000 bytes')
  expect(() => readUserBytes('/dev', 100_000)).toThrow('a directory is not a file: /dev')
})

describe('a user file', () => {
  test('is created, and replaced whole with its old mode', () => {
    const path = join(tempDirectory(), 'export.json')
    writeUserFile(path, 'first')
    expect(readUserFile(path)).toBe('first')
    chmodSync(path, 0o640)
    writeUserFile(path, 'second Ü')
    expect(readUserFile(path)).toBe('second Ü')
    expect(statSync(path).mode & 0o777).toBe(0o640)
    expect(readdirSync(join(path, '..'))).toEqual(['export.json'])
  })

  test('that is a symlink stays one, and its target is replaced', () => {
    const directory = tempDirectory()
    const [target, link] = [join(directory, 'target'), join(directory, 'link')]
    writeFileSync(target, 'old')
    symlinkSync(target, link)
    writeUserFile(link, 'new')
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(readFileSync(target, 'utf8')).toBe('new')
    expect(readUserFile(link)).toBe('new')
  })

  test('has the directory of its real path fsynced', () => {
    const [directory, elsewhere] = [tempDirectory(), tempDirectory()]
    const link = join(elsewhere, 'link')
    symlinkSync(join(directory, 'target'), link)
    writeFileSync(join(directory, 'target'), 'old')
    const operations = recordOperations()
    writeUserFile(link, 'new')
    const synced = operations.filter(({ name }) => name === 'sync_directory').map(({ path }) => path)
    expect(synced).toEqual([realpathSync(directory)])
  })

  test('is reported as not written if its name cannot be fsynced', () => {
    const path = join(tempDirectory(), 'export.json')
    withFaults(failing('EIO', ({ name }) => name === 'sync_directory'))
    expect(() => writeUserFile(path, 'text')).toThrow(expect.objectContaining({ code: 'SYNC_FAILED' }))
    withFaults(failing('EACCES', ({ name }) => name === 'sync_directory'))
    writeUserFile(path, 'in a directory that may be written in and not read')
  })

  test('that a disk takes only in part stays unchanged, with no temporary file', () => {
    const path = join(tempDirectory(), 'export.json')
    writeUserFile(path, 'the old text')
    let writes = 0
    withFaults(({ point, name }) => {
      if (name !== 'write' || !point.startsWith('user_file')) return undefined
      writes += 1
      return { writtenBytesMax: writes === 1 ? 7 : 0 }
    })
    expect(() => writeUserFile(path, 'only half of this')).toThrow(
      expect.objectContaining({
        code: 'STORAGE_FAILED',
        message: `cannot write ${path}: nothing was written`,
        facts: { path, errno: 'ENOSPC' },
      }),
    )
    expect(readUserFile(path)).toBe('the old text')
    expect(readdirSync(join(path, '..'))).toEqual(['export.json'])
  })

  test('that cannot be fsynced stays unchanged', () => {
    const path = join(tempDirectory(), 'export.json')
    writeUserFile(path, 'the old text')
    withFaults(failing('EIO', ({ point }) => point === 'user_file.fsync'))
    expect(() => writeUserFile(path, 'the new')).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }))
    expect(readUserFile(path)).toBe('the old text')
  })

  test('that cannot be written or read is named', () => {
    const path = join(tempDirectory(), 'none', 'export.json')
    expect(() => writeUserFile(path, 'text')).toThrow(
      expect.objectContaining({
        code: 'STORAGE_FAILED',
        facts: { path, errno: 'ENOENT' },
      }),
    )
    expect(() => readUserFile(path)).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringContaining(path) }),
    )
  })

  test('does not replace a FIFO or a directory', () => {
    const directory = tempDirectory()
    const fifo = join(directory, 'fifo')
    execFileSync('mkfifo', [fifo])
    for (const path of [fifo, directory])
      expect(() => writeUserFile(path, 'text')).toThrow(`cannot write ${path}: it is not a regular file`)
    expect(lstatSync(fifo).isFIFO()).toBe(true)
  })

  test('does not replace a broken symlink or a link to a pipe', () => {
    const directory = tempDirectory()
    const removed = openSync(join(directory, 'removed'), 'w')
    rmSync(join(directory, 'removed'))
    const child = spawn('true', { stdio: ['ignore', 'pipe', 'ignore'] })
    const { fd } = (child.stdout as unknown as { _handle: { fd: number } })._handle
    const ends = [
      [join(directory, 'none'), 'it is a broken symbolic link'],
      [`/proc/self/fd/${removed}`, 'it is a broken symbolic link'],
      [`/proc/self/fd/${fd}`, 'it is not a regular file'],
    ] as const
    for (const [index, [end, why]] of ends.entries()) {
      const link = join(directory, `link ${index}`)
      symlinkSync(end, link)
      expect(() => writeUserFile(link, 'text')).toThrow(`cannot write ${link}: ${why}`)
      expect(readlinkSync(link)).toBe(end)
    }
    closeSync(removed)
  })

  test('is distinguished from a directory', () => {
    const directory = tempDirectory()
    mkdirSync(join(directory, 'd'))
    writeFileSync(join(directory, 'f'), '')
    expect(['d', 'f', 'none'].map((name) => isDirectory(join(directory, name)))).toEqual([true, false, false])
  })

  test('is not a path with a NUL byte, as the workspace in a bundle of a stranger may be', () => {
    expect(isDirectory(`${tempDirectory()}\0`)).toBe(false)
  })
})
