import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type KeyPlace, mergeEntries } from '../../../src/storage/log/key-entries.js'
import { KeyFile, writeKeyFile } from '../../../src/storage/log/key-file.js'
import { operationsOf } from '../../support/operations.js'
import { tempDirectory } from '../../support/temp.js'

const END = { agent_id: 'a', last_seq: 1, last_offset: 0, log_bytes: 100, record_crc: '00000000' }

function indexOf(hashes: string[]): KeyFile {
  const path = join(tempDirectory(), 'keys')
  const places = new Map<string, KeyPlace>(
    hashes.map((hash, number) => [hash, { seq: number + 1, offset: number, minute: 0 }]),
  )
  writeKeyFile(path, END, mergeEntries(Buffer.alloc(0), places))
  return KeyFile.open(path, END.agent_id) as KeyFile
}

const hashOf = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, 32)
const seqOf = (index: KeyFile, hash: string): number | undefined =>
  index.find(Buffer.from(hash, 'hex'))?.place?.seq
const range = (count: number): number[] => Array.from({ length: count }, (_, number) => number)

describe('a key index', () => {
  test.for<[string, (number: number) => string]>([
    ['spread evenly', (number) => hashOf(`${number}`)],
    ['all close together', (number) => `80000000${hashOf(`${number}`).slice(8)}`],
    ['all at the beginning', (number) => `000000${hashOf(`${number}`).slice(6)}`],
    ['at both ends', (number) => `${number % 2 === 0 ? '0000' : 'ffff'}${hashOf(`${number}`).slice(4)}`],
  ])('finds each hash and no other, with hashes %s', ([, hash]) => {
    const index = indexOf(range(5000).map(hash))
    const found = range(5000).map((number) => seqOf(index, hash(number)))
    expect(found).toEqual(range(5000).map((number) => number + 1))
    const others = range(1000).flatMap((number) => [hashOf(`other ${number}`), hash(number + 5000)])
    expect(others.filter((other) => seqOf(index, other) !== undefined)).toEqual([])
    index.close()
  })

  test('reads one or two pages per hash in a large index', () => {
    const index = indexOf(range(43_200).map((number) => hashOf(`${number}`)))
    const reads = operationsOf(() => {
      for (const number of range(100)) seqOf(index, hashOf(`${number}`))
    })
    index.close()
    expect(reads.length).toBeLessThan(200)
  })
})
