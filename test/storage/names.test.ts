import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tryLease } from '../../src/storage/locks/lease.js'
import { NameIndex } from '../../src/storage/names.js'
import { HomePaths, type NameIndexPaths } from '../../src/storage/paths.js'
import { clearFaults, failStep, operationsOf, unsyncedAfter } from '../support/operations.js'
import { tempStore } from '../support/temp.js'

const system = { kind: 'ofd' as const, isLocal: true }

function newIndex(): { index: NameIndex; paths: NameIndexPaths } {
  const paths = new HomePaths(tempStore().address).rootNames()
  return { index: new NameIndex(paths, system, () => true), paths }
}

describe('the index of names', () => {
  test('finds a name in any case and Unicode composition, and no other name', () => {
    const { index } = newIndex()
    const id = randomUUID()
    index.reserve('Éclair', id)
    expect(index.lookUp('e\u0301CLAIR')).toBe(id)
    expect(index.lookUp('eclair')).toBeUndefined()
  })

  test('has a name and its directory durable once reserved', () => {
    const { index, paths } = newIndex()
    const operations = operationsOf(() => index.reserve('build', randomUUID()))
    expect(unsyncedAfter(operations)).toEqual([])
    expect(operations.at(-1)).toMatchObject({ name: 'sync_directory', path: paths.directory })
  })

  test('leaves a name with the old agent or the new one after any failed step', () => {
    const ids = [randomUUID(), randomUUID()] as const
    const reserveTwice = (): NameIndex => {
      const { index } = newIndex()
      index.reserve('build', ids[0])
      return index
    }
    const steps = operationsOf(() => newIndex().index.reserve('build', ids[1]))
    let refused = 0
    for (let index = 0; index < steps.length; index++) {
      const names = reserveTwice()
      failStep(index, 'EIO')
      try {
        names.reserve('build', ids[1])
      } catch {
        refused += 1
      }
      clearFaults()
      expect(ids).toContain(names.lookUp('build'))
    }
    expect(refused).toBeGreaterThan(4)
  })

  test('treats a damaged entry as missing, but does not trust the miss', () => {
    const { index, paths } = newIndex()
    index.reserve('build', randomUUID())
    const whole = readFileSync(paths.entry('build'))
    for (const bytes of [Buffer.alloc(0), whole.subarray(0, 30), Buffer.alloc(whole.length)]) {
      writeFileSync(paths.entry('build'), bytes)
      expect(index.lookUp('build')).toBeUndefined()
      expect(index.isMissTrusted('build')).toBe(false)
      expect(index.isMissTrusted('other')).toBe(true)
      expect(index.ids()).toBeUndefined()
    }
    writeFileSync(paths.entry('build'), whole)
    expect(index.ids()).toHaveLength(1)
    expect(index.isMissTrusted('build')).toBe(true)
  })

  test('is complete in a new home; a deleted one is not until it is marked so', async () => {
    const { index, paths } = newIndex()
    expect(index.isComplete).toBe(true)
    rmSync(paths.directory, { recursive: true })
    expect(index.isComplete).toBe(false)
    expect(index.ids()).toBeUndefined()
    expect(index.isMissTrusted('build')).toBe(false)
    expect(index.lookUp('build')).toBeUndefined()
    const lease = await index.lock('test')
    const operations = operationsOf(() => index.markComplete())
    expect(index.isComplete).toBe(true)
    expect(unsyncedAfter(operations)).toEqual([])
    await lease.release()
  })

  test('has its own lock with one holder', async () => {
    const { index, paths } = newIndex()
    const lease = await index.lock('test')
    expect(await tryLease(system, paths.lock, 'other')).toBeUndefined()
    await lease.release()
    const next = await index.lock('test')
    await next.release()
    expect(existsSync(join(paths.directory, 'lock'))).toBe(true)
  })
})
