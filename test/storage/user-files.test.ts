import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isDirectory, readUserFile, writeUserFile } from '../../src/storage/user-files.js'
import { failing, withFaults } from '../support/faults.js'
import { recordOperations } from '../support/operations.js'
import { tempDirectory } from '../support/temp.js'

describe('a file of the user', () => {
  test('is made, and replaced whole with its mode kept', async () => {
    const path = join(tempDirectory(), 'export.json')
    await writeUserFile(path, 'first')
    expect(readUserFile(path)).toBe('first')
    chmodSync(path, 0o640)
    await writeUserFile(path, 'second Ü')
    expect(readUserFile(path)).toBe('second Ü')
    expect(statSync(path).mode & 0o777).toBe(0o640)
    expect(readdirSync(join(path, '..'))).toEqual(['export.json'])
  })

  test('that is a link stays one, and what it leads to is replaced', async () => {
    const directory = tempDirectory()
    const [target, link] = [join(directory, 'target'), join(directory, 'link')]
    writeFileSync(target, 'old')
    symlinkSync(target, link)
    await writeUserFile(link, 'new')
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(readFileSync(target, 'utf8')).toBe('new')
    expect(readUserFile(link)).toBe('new')
  })

  test('has its name synced where it is, also behind a link', async () => {
    const [directory, elsewhere] = [tempDirectory(), tempDirectory()]
    const link = join(elsewhere, 'link')
    symlinkSync(join(directory, 'target'), link)
    writeFileSync(join(directory, 'target'), 'old')
    const operations = recordOperations()
    await writeUserFile(link, 'new')
    const synced = operations.filter(({ name }) => name === 'sync_directory').map(({ path }) => path)
    expect(synced).toEqual([realpathSync(directory)])
  })

  test('whose name cannot be synced is not said to be written', async () => {
    const path = join(tempDirectory(), 'export.json')
    withFaults(failing('EIO', ({ name }) => name === 'sync_directory'))
    await expect(writeUserFile(path, 'text')).rejects.toMatchObject({ code: 'SYNC_FAILED' })
    withFaults(failing('EACCES', ({ name }) => name === 'sync_directory'))
    await writeUserFile(path, 'in a directory that may be written in and not read')
  })

  test('that came out short is an error, though the library reports success', async () => {
    const path = join(tempDirectory(), 'export.json')
    // What a disk that takes half of it leaves: the length is asked for, and is not that of the text.
    withFaults(({ point }) => {
      if (point === 'user_file.stat') writeFileSync(path, 'only ha')
      return undefined
    })
    await expect(writeUserFile(path, 'only half of this')).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      message: `cannot write ${path}: only 7 of 17 bytes were written`,
      facts: { path, errno: 'ENOSPC' },
    })
  })

  test('that cannot be written, or read, is named', async () => {
    const path = join(tempDirectory(), 'none', 'export.json')
    await expect(writeUserFile(path, 'text')).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      facts: { path, errno: 'ENOENT' },
    })
    expect(() => readUserFile(path)).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringContaining(path) }),
    )
  })

  test('is told from a directory', () => {
    const directory = tempDirectory()
    mkdirSync(join(directory, 'd'))
    writeFileSync(join(directory, 'f'), '')
    expect(['d', 'f', 'none'].map((name) => isDirectory(join(directory, name)))).toEqual([true, false, false])
  })
})
