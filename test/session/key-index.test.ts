/** Keys older than those in the state are found in the key index, or in the log if the index cannot be trusted. */
import { randomInt } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import { findKey } from '../../src/session/key-index.js'
import { loadFrom, openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import type { LogReader } from '../../src/storage/store.js'
import { appendKeyedTurns, keyedTurn } from '../support/aged.js'
import { copyOf } from '../support/killed.js'
import { isSync, recordOperations } from '../support/operations.js'
import { newAgent, reopen } from '../support/sessions.js'
import { encodeSnapshot } from '../support/snapshots.js'
import { tempStore } from '../support/temp.js'

const MAX = limits.keysInStateMax
const names = (count: number, prefix = 'k'): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`)

let store: FileStore
let id: string
let path: string

beforeEach(async () => {
  const empty = tempStore()
  use(empty, await newAgent(empty))
})

function use(home: FileStore, agentId: string): void {
  store = home
  id = agentId
  path = join(dirname(store.local.logPath(id)), 'keys')
}

/** Opens the home as a new process does, without keys in memory. */
function afresh(): FileStore {
  store = FileStore.openForWrite(store.address)
  return store
}

function latest(): State {
  return openForRead(store, id)?.state as State
}

function finder(): (key: string) => ReturnType<typeof findKey> {
  const state = latest()
  return (key) => findKey(store, state, key)
}

/** Runs a turn in a session that closes cleanly. */
async function turn(key?: string): Promise<void> {
  const session = await reopen(afresh(), id)
  for (const batch of keyedTurn(key)) session.append(batch)
  await session.close(() => false)
}

async function turns(keys: string[]): Promise<void> {
  for (const key of keys) await turn(key)
}

/** The seq of the latest run of each key. */
function inLog(): Map<string, number> {
  const seqs = new Map<string, number>()
  for (const line of readFileSync(store.local.logPath(id), 'utf8').split('\n').slice(0, -1)) {
    if (!line.includes('"kind":"run.started"')) continue
    const { kind, key, seq } = JSON.parse(line)
    if (kind === 'run.started' && key !== undefined) seqs.set(key, seq)
  }
  return seqs
}

/** Checks one key in 23, from the oldest on, because each lookup reads an unusable index again. */
function expectAsInLog(unused = 'never used'): void {
  const find = finder()
  expect(find(unused)).toBeUndefined()
  for (const [index, [key, seq]] of [...inLog()].entries())
    if (index % 23 === 0) expect(find(key)).toMatchObject({ key, seq })
}

describe('the key index', () => {
  test('is neither written nor needed for a few keys', async () => {
    await turns(names(3))
    expect(existsSync(path)).toBe(false)
    expectAsInLog()
  })

  test('is written before any key leaves the state', async () => {
    appendKeyedTurns(store, id, names(limits.keysLateMax - 1))
    await turn('one more')
    expect(existsSync(path)).toBe(true)
    appendKeyedTurns(store, id, names(limits.keysLateMax - 2, 'late'))
    const before = readFileSync(path)
    await turn('still few')
    expect(readFileSync(path)).toEqual(before)
    await turn('enough')
    expect(readFileSync(path)).not.toEqual(before)
    expectAsInLog()
  })

  test('has every key, and the latest run of a key that was used again', async () => {
    appendKeyedTurns(store, id, [...names(2 * MAX), 'k5', undefined, ...names(MAX, 'more')])
    await turn('last')
    expectAsInLog()
  })

  test('is written without an fsync', async () => {
    appendKeyedTurns(store, id, names(2 * MAX))
    const steps = recordOperations()
    await turn('without an index')
    expect(steps.filter(({ point }) => point === 'keys.rename')).toHaveLength(1)
    expect(steps.filter((step) => step.point.startsWith('keys.') && isSync(step))).toEqual([])
  })

  test('is not written by a reader', async () => {
    appendKeyedTurns(store, id, names(3 * MAX))
    expectAsInLog()
    expect(existsSync(path)).toBe(false)
  })

  test('is completed from the log if it is behind, as after many killed turns', async () => {
    appendKeyedTurns(store, id, names(100))
    await turn('written')
    appendKeyedTurns(store, id, [...names(MAX + 40, 'killed'), 'k3'])
    afresh()
    expectAsInLog()
    await turn('again')
    expectAsInLog()
  })
})

describe('no key counts as new if the key index', () => {
  let older: Buffer
  let directory: string
  let made: FileStore
  let madeId: string

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'substrat-test-'))
    made = FileStore.openForWrite(join(directory, 'home'))
    use(made, await newAgent(made))
    appendKeyedTurns(store, id, names(MAX + 40))
    await turn('first')
    older = readFileSync(path)
    appendKeyedTurns(store, id, names(MAX + 40, 'second'))
    await turn('last')
    madeId = id
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  beforeEach(() => {
    use(copyOf(made), madeId)
  })

  const changed = (change: (bytes: Buffer) => Buffer | undefined) => () =>
    writeFileSync(path, change(readFileSync(path)) ?? readFileSync(path))
  const CASES: [string, () => void][] = [
    ['is missing', () => rmSync(path)],
    ['is empty', () => truncateSync(path, 0)],
    ['ends inside its header', () => truncateSync(path, 40)],
    ['lacks its last page', () => truncateSync(path, readFileSync(path).length - 4096)],
    ['contains only NUL bytes', changed((bytes) => Buffer.alloc(bytes.length))],
    ['ends in a page of NUL bytes', changed((bytes) => void bytes.fill(0, bytes.length - 4096) as undefined)],
    ['is longer than its header says', changed((bytes) => Buffer.concat([bytes, Buffer.alloc(4096)]))],
    ['is an older version', () => writeFileSync(path, older)],
    [
      'has pages of an older version',
      changed((bytes) =>
        Buffer.concat([
          bytes.subarray(0, bytes.indexOf(10) + 1),
          older.subarray(older.indexOf(10) + 1),
          bytes.subarray(bytes.indexOf(10) + 1 + older.length - older.indexOf(10) - 1),
        ]),
      ),
    ],
    [
      'is a directory',
      () => {
        rmSync(path)
        renameSync(join(dirname(path), 'blobs'), path)
      },
    ],
  ]
  test.each(CASES)('%s', async (_, spoil) => {
    spoil()
    afresh()
    expectAsInLog()
    await turn('after')
    expectAsInLog()
  })

  test('belongs to another agent', async () => {
    const other = await newAgent(store, { name: 'other' })
    appendKeyedTurns(store, other, names(2 * MAX, 'theirs'))
    const [own, ownPath] = [id, path]
    id = other
    path = join(dirname(store.local.logPath(other)), 'keys')
    await turn('theirs')
    writeFileSync(ownPath, readFileSync(path))
    id = own
    afresh()
    expectAsInLog('theirs0')
  })

  test('belongs to a log that was restored and has since diverged', async () => {
    const log = readFileSync(store.local.logPath(id))
    const snapshot = join(dirname(path), 'session.json')
    const kept = readFileSync(snapshot)
    appendKeyedTurns(store, id, names(2 * MAX, 'gone'))
    await turn('gone')
    writeFileSync(store.local.logPath(id), log)
    writeFileSync(snapshot, kept)
    appendKeyedTurns(afresh(), id, names(2 * MAX, 'other'))
    expectAsInLog('gone0')
  })
})

describe('a snapshot with all keys, from before the key index,', () => {
  /** Writes the snapshot as the program did before the key index. */
  function asBefore(over: object = {}): State {
    const { keys_since: _, usage: __, ...whole } = latest()
    const { last_boot_seen: ___, ...recovery } = whole.recovery
    const entries = [...inLog()].map(([key, seq]) => ({ key, seq, offset: 0, started_at: '', end: 0 }))
    const known = new Map(whole.keys.map((entry) => [entry.key, entry]))
    const keys = entries.sort((a, b) => a.seq - b.seq).map((entry) => known.get(entry.key) ?? entry)
    writeFileSync(
      join(dirname(path), 'session.json'),
      frame({ snapshot: 5, ...whole, recovery, keys, ...over }),
    )
    return loadFrom(store.openLog(id) as LogReader, undefined).state
  }

  test.each([
    ['few keys', names(10)],
    ['as many keys as fit in the state', names(MAX)],
    ['more keys than fit in the state', [...names(MAX + 30), 'k3', 'k40']],
  ])('is read without the log: %s', (_, keys) => {
    appendKeyedTurns(store, id, keys)
    const whole = asBefore()
    const loaded = openForRead(store, id)
    expect(loaded?.snapshotBytes).toBe(whole.log_bytes)
    // Its usage is unknown until the next writer folds the log.
    expect(String(encodeSnapshot(loaded?.state as State))).toBe(
      String(encodeSnapshot({ ...whole, usage: null })),
    )
  })

  test('leads to an index with all keys at the next turn', async () => {
    appendKeyedTurns(store, id, names(2 * MAX))
    asBefore()
    await turn('after')
    expect(existsSync(path)).toBe(true)
    expectAsInLog()
  })

  test('is not used if it also says that keys are lost', () => {
    appendKeyedTurns(store, id, names(3))
    asBefore({ lost: { kept: [], keys: ['k'] } })
    expect(openForRead(store, id)?.snapshotBytes).toBe(-1)
  })
})

test('every key is found at its latest run in the log after any damage to the index', async () => {
  const seed = Number(process.env.KEYS_SEED ?? randomInt(2 ** 31))
  let random = seed
  const below = (bound: number): number => {
    random = (Math.imul(random, 1103515245) + 12345) & 0x7fffffff
    return Math.floor((random / 0x80000000) * bound)
  }
  const kept: Buffer[] = []
  try {
    for (let round = 0; round < 6; round++) {
      const keys = Array.from({ length: below(2 * MAX) + 1 }, () => `key ${below(900)}`)
      appendKeyedTurns(store, id, keys)
      if (below(3) > 0) await turn(`key ${below(900)}`)
      if (existsSync(path)) {
        const bytes = readFileSync(path)
        kept.push(Buffer.from(bytes))
        const at = below(bytes.length)
        const damages = [
          () => writeFileSync(path, bytes.fill((bytes[at] as number) ^ (1 << below(8)), at, at + 1)),
          () => writeFileSync(path, Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])),
          () => rmSync(path),
          () => truncateSync(path, at),
          () => writeFileSync(path, bytes.fill(0, at, Math.min(bytes.length, at + below(9000)))),
          () => writeFileSync(path, kept[below(kept.length)] as Buffer),
          () =>
            writeFileSync(
              path,
              Buffer.concat([(kept[below(kept.length)] as Buffer).subarray(0, at), bytes.subarray(at)]),
            ),
        ]
        damages[below(2 * damages.length)]?.()
      }
      if (below(2) > 0) rmSync(join(dirname(path), 'session.json'), { force: true })
      afresh()
      expectAsInLog()
    }
  } catch (error) {
    throw new Error(`KEYS_SEED=${seed}`, { cause: error })
  }
})
