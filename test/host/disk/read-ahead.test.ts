import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import * as io from '../../../src/host/disk/io.js'
import { confine } from '../../../src/host/disk/operation.js'
import { ReadAhead } from '../../../src/host/disk/read-ahead.js'
import {
  CHUNK_ENTRIES,
  FirstThread,
  SecondThread,
  type SharedMemory,
  sharedMemory,
} from '../../../src/host/disk/read-ahead-chunks.js'
import { withFaults } from '../../support/faults.js'
import { clearFaults } from '../../support/operations.js'
import { tempDirectory } from '../../support/temp.js'

const WHAT = { files: ['head', 'tail'] as [string, string], mark: ',"at":' }
const COUNT = 40 * CHUNK_ENTRIES + 1

describe('reading ahead', () => {
  let root: string
  let names: string[]

  beforeEach(() => {
    root = tempDirectory()
    names = Array.from({ length: COUNT }, (_, index) => String(index).padStart(5, '0'))
    for (const name of names) {
      mkdirSync(join(root, name))
      writeFileSync(join(root, name, 'head'), `{"name":"${name}","at":7,"end":1}`)
      writeFileSync(join(root, name, 'tail'), `before ${name}`)
    }
    confine([root])
  })

  function listed(): string[] {
    return io.listDirectories('test.list', root).sort()
  }

  function start(those = listed()): ReadAhead | undefined {
    return ReadAhead.start(root, those, WHAT, 1)
  }

  test('gives both files of every directory, in order', () => {
    const ahead = start()
    for (const name of names) {
      const files = ahead?.take(name)
      expect(files?.whole?.toString()).toBe(`{"name":"${name}","at":7,"end":1}`)
      expect(files?.tailFrom(7)?.toString()).toBe(name)
      expect(files?.tailFrom(6), 'the tail from another offset').toBeUndefined()
    }
    expect(ahead?.take('00000')).toBeUndefined()
  })

  test('leaves to the caller what is missing, too large, no file, or has no offset', () => {
    const at = (index: number, file: string): string => join(root, names[index] as string, file)
    execFileSync('rm', [at(1, 'head'), at(2, 'tail'), at(3, 'head'), at(4, 'head'), at(5, 'head')])
    symlinkSync(at(0, 'head'), at(3, 'head'))
    execFileSync('mkfifo', [at(4, 'head')])
    writeFileSync(at(5, 'head'), Buffer.alloc(1024 * 1024, 'x'))
    writeFileSync(at(6, 'head'), '{"at":')
    writeFileSync(at(7, 'head'), ',"at":123')
    const ahead = start()
    const found = names.slice(0, 9).map((name) => {
      const files = ahead?.take(name)
      return [files?.whole !== undefined, files?.tailFrom(7) !== undefined]
    })
    expect(found).toEqual([
      [true, true],
      ...[1].map(() => [false, false]),
      [true, false],
      ...[3, 4, 5].map(() => [false, false]),
      ...[6, 7].map(() => [true, false]),
      [true, true],
    ])
  })

  test('reads only real directories of the latest listing', () => {
    symlinkSync(join(root, '00000'), join(root, 'links'))
    expect(start([...listed()])).toBeUndefined()
    expect(start(names)).toBeDefined()
    expect(start([...names, 'other'])).toBeUndefined()
  })

  test('does not begin for few directories, or where faults are injected', () => {
    expect(ReadAhead.start(root, listed(), WHAT)).toBeUndefined()
    withFaults(() => undefined)
    expect(start()).toBeUndefined()
    clearFaults()
    expect(start()).toBeDefined()
  })

  test('ends at a name out of turn', () => {
    const ahead = start()
    expect(ahead?.take('00000')).toBeDefined()
    expect(ahead?.take('00002')).toBeUndefined()
    expect(ahead?.take('00001')).toBeDefined()
  })
})

describe('the chunks', () => {
  const CHUNKS = 30
  let memory: SharedMemory
  let reads: [thread: string, chunk: number][]

  beforeEach(() => {
    memory = sharedMemory(CHUNKS * CHUNK_ENTRIES)
    reads = []
  })

  const first = (): FirstThread => new FirstThread(memory, (chunk) => reads.push(['first', chunk]))

  test('are all read by the first thread if the second one never begins', () => {
    const reader = first()
    for (let chunk = 0; chunk < CHUNKS; chunk++) expect(reader.take(chunk, 1)).toBeDefined()
    expect(reads).toEqual(Array.from({ length: CHUNKS }, (_, chunk) => ['first', chunk]))
  })

  test('that the second thread has claimed and not read end the reading ahead after a time', () => {
    const dying = new SecondThread(memory, (chunk) => {
      if (chunk === 2) throw new Error('the thread dies')
      reads.push(['second', chunk])
    })
    expect(() => dying.run()).toThrow('dies')
    const reader = first()
    expect([0, 1].map((chunk) => reader.take(chunk, 1) === undefined)).toEqual([false, false])
    expect(reader.take(2, 1)).toBeUndefined()
    expect(reads.slice(0, 3)).toEqual([
      ['second', 0],
      ['second', 1],
      ['first', 3],
    ])
    const other = new SecondThread(memory, (chunk) => reads.push(['other', chunk]))
    other.run()
    expect(reads.map(([thread]) => thread)).not.toContain('other')
  })
})
