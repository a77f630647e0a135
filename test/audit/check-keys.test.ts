/** The audit of a key index, and its rebuild by `doctor --rebuild`. */
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { checkAgent } from '../../src/audit/check-agent.js'
import type { Finding } from '../../src/audit/finding.js'
import { rebuildHome } from '../../src/audit/rebuild.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { appendKeyedTurns, keyedTurn } from '../support/aged.js'
import { EVERY_KEY } from '../support/keys.js'
import { newAgent, reopen } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let id: string
let path: string
let whole: Buffer

beforeEach(async () => {
  store = tempStore()
  id = await newAgent(store)
  path = join(dirname(store.local.logPath(id)), 'keys')
  appendKeyedTurns(
    store,
    id,
    Array.from({ length: 200 }, (_, index) => `k${index}`),
  )
  const session = await reopen(store, id)
  for (const batch of keyedTurn('last')) session.append(batch)
  await session.close(() => false)
  whole = readFileSync(path)
})

function check(): Finding[] {
  const findings: Finding[] = []
  checkAgent(store, id, findings)
  return findings.filter(({ invariant }) => invariant !== 'a snapshot is intact')
}

const found = (): string[] => check().map(({ invariant }) => invariant)

test('a key index that is intact, older than the log or missing is not a finding', () => {
  expect(found()).toEqual([])
  appendKeyedTurns(store, id, ['one more'])
  expect(found()).toEqual([])
  rmSync(path)
  expect(found()).toEqual([])
})

test.each([
  ['empty', () => truncateSync(path, 0)],
  ['cut short', () => truncateSync(path, whole.length - 1)],
  [
    'damaged in a page',
    () => writeFileSync(path, Buffer.from(whole).fill(0, whole.length - 3000, whole.length - 2000)),
  ],
  [
    'from a log that has since diverged',
    () => {
      const index = store.keys.open(id)
      const { end } = index as NonNullable<typeof index>
      store.keys.write(
        { ...end, record_crc: '00000000' },
        { known: index?.entries(), added: new Map(), kept: EVERY_KEY },
      )
      index?.close()
    },
  ],
])('a key index that is %s repairs itself, and --rebuild rebuilds it', async (_, spoil) => {
  spoil()
  expect(found()).toEqual(['a key index is intact'])
  await rebuildHome(store, check(), {
    command: 'test',
    note: () => undefined,
  })
  expect(found()).toEqual([])
})

test('an intact key index that contradicts the log is damaged, and --rebuild rebuilds it', async () => {
  const index = store.keys.open(id)
  const { end } = index as NonNullable<typeof index>
  index?.close()
  const added = new Map([['00'.repeat(16), { seq: 3, offset: 9, minute: 7 }]])
  store.keys.write(end, { added, kept: EVERY_KEY })
  expect(found()).toEqual(['the key index has all keys of the log'])
  await rebuildHome(store, check(), {
    command: 'test',
    note: () => undefined,
  })
  expect(found()).toEqual([])
})
