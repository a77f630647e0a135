import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SubstratError } from '../../../src/errors.js'
import type { Operation } from '../../../src/host/disk/operation.js'
import { createWhole, replace } from '../../../src/host/disk/replace.js'
import { isTemporaryName } from '../../../src/host/disk/temporary.js'
import { withFaults } from '../../support/faults.js'
import { clearFaults, failStep, isSync, operationsOf, unsyncedAfter } from '../../support/operations.js'
import { tempDirectory } from '../../support/temp.js'

const OLD = Buffer.from('the old file\n')
const NEW = Buffer.from('the new file, longer than the old one\n')

/** Fails each step of `act` in turn, once and then permanently, and checks what is on disk after each. */
function failEachStep(
  act: (path: string) => void,
  prepare: (path: string) => void,
  look: (path: string, error: unknown, failed: Operation, temps: string[]) => void,
): number {
  const steps = operationsOf(() => act(prepared(prepare)))
  for (const howOften of ['once', 'from then on'] as const) {
    for (const [index, step] of steps.entries()) {
      const path = prepared(prepare)
      failStep(index, 'EIO', howOften)
      let error: unknown
      try {
        act(path)
      } catch (thrown) {
        error = thrown
      }
      clearFaults()
      const temps = readdirSync(join(path, '..')).filter((name) => name !== basename(path))
      // A temporary file may stay only if unlink fails, and only under a name that the sweep recognizes.
      if (howOften === 'once' && step.name !== 'unlink') expect(temps).toEqual([])
      expect(temps.every(isTemporaryName)).toBe(true)
      look(path, error, step, temps)
    }
  }
  return steps.length
}

function prepared(prepare: (path: string) => void): string {
  const path = join(tempDirectory(), 'file')
  prepare(path)
  return path
}

/** A failed sync is reported as such, even if later steps fail too; any other failure as a failed write. */
function expectCode(error: unknown, failed: Operation): void {
  expect(error).toBeInstanceOf(SubstratError)
  expect((error as SubstratError).code).toBe(isSync(failed) ? 'SYNC_FAILED' : 'STORAGE_FAILED')
}

describe('replace', () => {
  test('writes a temporary file, fsyncs, renames, and fsyncs the directory, in this order', () => {
    const path = join(tempDirectory(), 'file')
    writeFileSync(path, OLD)
    const operations = operationsOf(() => replace('point', path, NEW, { durableName: true }))
    expect(operations.map(({ point, name }) => [point, name])).toEqual([
      ['point.open', 'open'],
      ['point.write', 'write'],
      ['point.fsync', 'fsync'],
      ['point.rename', 'rename'],
      ['point.sync_directory', 'sync_directory'],
    ])
    expect(new Set(operations.slice(0, 4).map((operation) => operation.path)).size).toBe(1)
    expect(operations[3]?.to).toBe(path)
    expect(unsyncedAfter(operations)).toEqual([])
    expect(readFileSync(path)).toEqual(NEW)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test('without durableName syncs the bytes but not the directory', () => {
    const path = join(tempDirectory(), 'file')
    const operations = operationsOf(() => replace('point', path, NEW, { durableName: false }))
    expect(operations.map(({ name }) => name)).toEqual(['open', 'write', 'fsync', 'rename'])
  })

  test('leaves the old file or the new one after any failed step', () => {
    const count = failEachStep(
      (path) => replace('point', path, NEW, { durableName: true }),
      (path) => writeFileSync(path, OLD),
      (path, error, failed) => {
        expectCode(error, failed)
        expect(readFileSync(path)).toEqual(failed.name === 'sync_directory' ? NEW : OLD)
      },
    )
    expect(count).toBe(5)
  })

  test('continues a short write, and keeps the old file if the disk is full', () => {
    const path = join(tempDirectory(), 'file')
    writeFileSync(path, OLD)
    withFaults(({ name }) => (name === 'write' ? { writtenBytesMax: 4 } : undefined))
    replace('point', path, NEW, { durableName: true })
    expect(readFileSync(path)).toEqual(NEW)
    withFaults(({ name, offset }) =>
      name === 'write' ? { writtenBytesMax: (offset as number) < 8 ? 4 : 0 } : undefined,
    )
    expect(() => replace('point', path, OLD, { durableName: true })).toThrow(
      expect.objectContaining({
        code: 'STORAGE_FAILED',
        facts: expect.objectContaining({ errno: 'ENOSPC' }),
      }),
    )
    expect(readFileSync(path)).toEqual(NEW)
    expect(readdirSync(join(path, '..'))).toEqual(['file'])
  })

  test('reports a failed sync even if the temporary file cannot be removed', () => {
    const path = join(tempDirectory(), 'file')
    withFaults(({ name }) => {
      if (name === 'fsync') throw Object.assign(new Error('EIO'), { code: 'EIO' })
      if (name === 'unlink') throw Object.assign(new Error('EROFS'), { code: 'EROFS' })
      return undefined
    })
    expect(() => replace('point', path, NEW, { durableName: true })).toThrow(
      expect.objectContaining({ code: 'SYNC_FAILED', facts: expect.objectContaining({ errno: 'EIO' }) }),
    )
  })
})

describe('createWhole', () => {
  test('writes a temporary file, fsyncs, links, and fsyncs the directory, in this order', () => {
    const path = join(tempDirectory(), 'file')
    const operations = operationsOf(() => expect(createWhole('point', path, NEW)).toBe(true))
    expect(operations.map(({ name }) => name)).toEqual([
      'open',
      'write',
      'fsync',
      'link',
      'unlink',
      'sync_directory',
    ])
    expect(unsyncedAfter(operations)).toEqual([])
    expect(readFileSync(path)).toEqual(NEW)
    expect(readdirSync(join(path, '..'))).toEqual(['file'])
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test('keeps an existing file and fsyncs its directory', () => {
    const path = join(tempDirectory(), 'file')
    writeFileSync(path, OLD)
    const operations = operationsOf(() => expect(createWhole('point', path, NEW)).toBe(false))
    expect(operations.at(-1)).toMatchObject({ name: 'sync_directory', path: join(path, '..') })
    expect(readFileSync(path)).toEqual(OLD)
    expect(readdirSync(join(path, '..'))).toEqual(['file'])
  })

  test('leaves the whole file or none after any failed step', () => {
    const count = failEachStep(
      (path) => {
        createWhole('point', path, NEW)
      },
      () => undefined,
      (path, error, failed, temps) => {
        const isThere = readdirSync(join(path, '..')).includes('file')
        expect(isThere).toBe(['unlink', 'sync_directory'].includes(failed.name))
        if (isThere) expect(readFileSync(path)).toEqual(NEW)
        // A temporary file that stays is not a failure of the request.
        if (failed.name === 'unlink' && error === undefined) expect(temps).toHaveLength(1)
        else if (failed.name !== 'unlink') expectCode(error, failed)
      },
    )
    expect(count).toBe(6)
  })
})

describe('names of temporary files', () => {
  test('match no other kind of name, and never repeat', () => {
    const directory = tempDirectory()
    const seen = operationsOf(() => {
      for (let round = 0; round < 50; round++)
        replace('point', join(directory, 'file'), NEW, { durableName: false })
    }).filter(({ name }) => name === 'open')
    expect(new Set(seen.map(({ path }) => path)).size).toBe(50)
    for (const { path } of seen) expect(isTemporaryName(basename(path))).toBe(true)
    for (const name of ['file', 'session.json', 'lock', '.tmp', 'a.1-b.tmp.json', `${'0'.repeat(64)}`])
      expect(isTemporaryName(name)).toBe(false)
  })
})

describe('a temporary file that a sweep takes before its rename or link', () => {
  test.each(['replace.rename', 'create.link'])('is written again, at %s', (step) => {
    const path = join(tempDirectory(), 'a.json')
    let sweeps = 2
    withFaults((operation) => {
      if (operation.point === step && sweeps-- > 0) rmSync(operation.path)
      return undefined
    })
    if (step === 'create.link') expect(createWhole('create', path, Buffer.from('new'))).toBe(true)
    else replace('replace', path, Buffer.from('new'), { durableName: true })
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(sweeps).toBe(-1)
  })

  test('is an error if the directory is gone', () => {
    const directory = tempDirectory()
    withFaults(({ point }) => {
      if (point === 'replace.rename') rmSync(directory, { recursive: true, force: true })
      return undefined
    })
    expect(() =>
      replace('replace', join(directory, 'a.json'), Buffer.from('new'), { durableName: true }),
    ).toThrow(
      expect.objectContaining({
        code: 'STORAGE_FAILED',
        facts: expect.objectContaining({ errno: 'ENOENT' }),
      }),
    )
  })
})
