import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SubstratError } from '../../src/errors.js'
import { FORMAT } from '../../src/format.js'
import { isTemporaryName } from '../../src/host/disk/temporary.js'
import type { HomeFacts } from '../../src/schema/files.js'
import { FileStore } from '../../src/storage/file-store.js'
import { makeHome, readHome } from '../../src/storage/home.js'
import { frame } from '../../src/storage/log/frame.js'
import { HomePaths } from '../../src/storage/paths.js'
import { NOBODY, whyNoOtherUser } from '../support/another-user.js'
import { failing, withFaults } from '../support/faults.js'
import { clearFaults, failStep, isSync, operationsOf, unsyncedAfter } from '../support/operations.js'
import { newAgent, reopen } from '../support/sessions.js'
import { Child, useChildren } from '../support/storage-process.js'
import { tempDirectory, tempStore } from '../support/temp.js'

useChildren()

const isRoot = process.getuid?.() === 0
const why = whyNoOtherUser()
if (why !== undefined) console.log(`skipped: tests that need another user (${why})`)

const kind = (): 'ofd' => 'ofd'

function newPaths(...below: string[]): HomePaths {
  return new HomePaths(join(tempDirectory(), ...below, 'home'))
}

const NAMES = ['agents', 'boots', 'home.json', 'operator', 'roots', 'slots', 'unclean']

describe('a home', () => {
  test('is created by the first command, with all its directories, for its owner only', () => {
    const paths = newPaths()
    const facts = makeHome(paths, kind)
    expect(facts).toMatchObject({ format: FORMAT, lock: 'ofd' })
    expect(readdirSync(paths.root).sort()).toEqual(NAMES)
    expect(readdirSync(paths.roots)).toEqual(['complete'])
    expect(existsSync(paths.operatorInbox)).toBe(true)
    for (const name of NAMES) {
      const { mode } = statSync(join(paths.root, name))
      expect(mode & 0o777).toBe(name === 'home.json' ? 0o600 : 0o700)
    }
    expect(statSync(paths.root).mode & 0o777).toBe(0o700)
  })

  test('is only opened by later commands, which write and fsync nothing', () => {
    const paths = newPaths()
    const facts = makeHome(paths, kind)
    const operations = operationsOf(() => expect(makeHome(paths, () => 'flock')).toEqual(facts))
    expect(operations.filter(({ name }) => name !== 'read' && name !== 'open')).toEqual([])
    expect(readHome(paths)).toEqual(facts)
  })

  test('is not created by a reader', () => {
    const paths = newPaths()
    expect(readHome(paths)).toBeUndefined()
    mkdirSync(paths.root)
    expect(readHome(paths)).toBeUndefined()
    expect(readdirSync(paths.root)).toEqual([])
  })

  test('gets boots/ last, after every other name in and above it is fsynced', () => {
    const paths = newPaths('some', 'where')
    const operations = operationsOf(() => makeHome(paths, kind))
    const ready = operations.findIndex(({ point }) => point === 'home.ready')
    expect(operations[ready]).toMatchObject({ name: 'mkdir', path: paths.boots })
    expect(operations.slice(ready + 1).filter(({ name }) => name !== 'read' && name !== 'open')).toEqual([])
    expect(unsyncedAfter(operations.slice(0, ready))).toEqual([])
    // The check above relies on this: it recorded the creation of the home and of the two directories above it.
    const made = operations
      .filter(({ name, wasThere }) => name === 'mkdir' && !wasThere)
      .map(({ path }) => path)
    expect(made).toEqual(
      expect.arrayContaining([dirname(dirname(paths.root)), dirname(paths.root), paths.root]),
    )
  })

  test('that was restored without its empty directories gets them back', () => {
    const paths = newPaths()
    const facts = makeHome(paths, kind)
    for (const directory of [paths.unclean, paths.slots]) rmSync(directory, { recursive: true })
    expect(makeHome(paths, kind)).toEqual(facts)
    expect(readdirSync(paths.root).sort()).toEqual(NAMES)
  })

  test('is completed by the next command after its creator died midway, with existing names fsynced', () => {
    const rehearsal = newPaths()
    const steps = operationsOf(() => makeHome(rehearsal, kind))
    for (const howOften of ['once', 'from then on'] as const) {
      for (const [index, step] of steps.entries()) {
        const paths = newPaths()
        failStep(index, 'EIO', howOften)
        let facts: HomeFacts | undefined
        try {
          facts = makeHome(paths, kind)
        } catch (error) {
          expect(error).toBeInstanceOf(SubstratError)
          const isSyncFailure = isSync(step) || step.point === 'home.create.unlink'
          expect((error as SubstratError).code).toBe(isSyncFailure ? 'SYNC_FAILED' : 'STORAGE_FAILED')
        }
        clearFaults()
        const before = existsSync(paths.homeFile) ? readFileSync(paths.homeFile) : undefined
        const wasReady = existsSync(paths.boots)
        const operations = operationsOf(() => makeHome(paths, kind))
        if (before !== undefined) expect(readFileSync(paths.homeFile)).toEqual(before)
        if (facts !== undefined) expect(readHome(paths)).toEqual(facts)
        if (!wasReady) {
          const synced = operations.filter(({ name }) => name === 'sync_directory').map(({ path }) => path)
          expect(synced).toEqual(
            expect.arrayContaining([dirname(paths.root), paths.root, paths.roots, paths.operator]),
          )
        }
        const names = readdirSync(paths.root).filter((name) => !isTemporaryName(name))
        expect(names.sort()).toEqual(NAMES)
        expect(readdirSync(paths.roots)).toEqual(['complete'])
      }
    }
    expect(steps.length).toBeGreaterThan(20)
  })

  test('is one home even if several first commands race to create it', async () => {
    const children = await Promise.all(Array.from({ length: 4 }, () => Child.start()))
    const directory = tempDirectory()
    for (let round = 0; round < 15; round++) {
      const root = join(directory, `some${round}`, 'home')
      const facts = await Promise.all(children.map((child) => child.ask({ do: 'make home', root })))
      for (const each of facts) expect(each).toEqual(facts[0])
      expect(readHome(new HomePaths(root))).toEqual(facts[0])
      expect(readdirSync(root).sort()).toEqual(NAMES)
    }
    await Promise.all(children.map((child) => child.kill()))
  })

  test('that has agents but lost its index does not get a complete index', () => {
    const paths = newPaths()
    makeHome(paths, kind)
    mkdirSync(paths.agent('0b9f3c0e-7a3e-4c55-9d6e-1d8a4f8f2a11').root)
    for (const path of [paths.roots, paths.boots]) rmSync(path, { recursive: true })
    makeHome(paths, kind)
    expect(readdirSync(paths.roots)).toEqual([])
  })

  test('is created beside the files that its owner may prepare', () => {
    const paths = newPaths()
    const prepared = ['AGENTS.md', 'config.json', 'identity.md', 'lost+found', 'memory.md', 'skills']
    for (const name of prepared) mkdirSync(join(paths.root, name), { recursive: true })
    makeHome(paths, kind)
    expect(readdirSync(paths.root).sort()).toEqual([...NAMES, ...prepared].sort())
  })

  test('may be a symlink', () => {
    const paths = newPaths()
    const facts = makeHome(paths, kind)
    const link = join(dirname(paths.root), 'link')
    symlinkSync(paths.root, link)
    expect(makeHome(new HomePaths(link), kind)).toEqual(facts)
    rmSync(paths.boots, { recursive: true })
    expect(makeHome(new HomePaths(link), kind)).toEqual(facts)
  })
})

describe('a home of format 1', () => {
  function older(): { paths: HomePaths; facts: HomeFacts } {
    const paths = newPaths()
    const facts = { ...makeHome(paths, kind), format: 1 }
    writeFileSync(paths.homeFile, frame(facts))
    return { paths, facts }
  }

  test('is read as it is, and raised once by a command that writes, with the same identity', () => {
    const { paths, facts } = older()
    expect(readHome(paths)).toMatchObject(facts)
    const operations = operationsOf(() =>
      expect(makeHome(paths, () => 'flock')).toMatchObject({ ...facts, format: FORMAT }),
    )
    // The new format is durable before the command can write to a log.
    expect(unsyncedAfter(operations)).toEqual([])
    expect(operations.filter(({ name }) => name === 'rename').map(({ to }) => to)).toEqual([paths.homeFile])
    const later = operationsOf(() => makeHome(paths, kind))
    expect(later.filter(({ name }) => name !== 'read' && name !== 'open')).toEqual([])
  })

  test('is raised by the next command if the first one died at any step', () => {
    const steps = operationsOf(() => makeHome(older().paths, kind))
    const found = new Set<number>()
    for (const howOften of ['once', 'from then on'] as const)
      for (const index of steps.keys()) {
        const { paths, facts } = older()
        failStep(index, 'EIO', howOften)
        try {
          makeHome(paths, kind)
        } catch (error) {
          expect(error).toBeInstanceOf(SubstratError)
        }
        clearFaults()
        const { format, ...identity } = readHome(paths) as HomeFacts
        expect(facts).toMatchObject({ ...identity, format: 1 })
        found.add(format)
        expect(makeHome(paths, kind)).toMatchObject({ ...facts, format: FORMAT })
      }
    expect(found).toEqual(new Set([1, FORMAT]))
  })
})

describe('a home of an earlier format', () => {
  const REFUSALS = ['EROFS', 'EACCES', 'ENOSPC', 'EDQUOT']

  function earlier(): HomePaths {
    const paths = newPaths()
    writeFileSync(paths.homeFile, frame({ ...makeHome(paths, kind), format: 1 }))
    return paths
  }

  /** An agent whose log has format 1. */
  async function earlierAgent({ root }: HomePaths): Promise<string> {
    const store = FileStore.openForWrite(root)
    const id = await newAgent(store)
    const path = store.local.logPath(id)
    const { crc: _, ...record } = JSON.parse(readFileSync(path, 'utf8'))
    writeFileSync(path, frame({ ...record, format: 1 }))
    rmSync(join(dirname(path), 'session.json'))
    return id
  }

  function setFormat({ homeFile }: HomePaths, format: number): void {
    const { crc: _, ...facts } = JSON.parse(readFileSync(homeFile, 'utf8'))
    writeFileSync(homeFile, frame({ ...facts, format }))
  }

  test.each(REFUSALS)(
    'that cannot be raised (%s) is open to commands that write no record',
    async (errno) => {
      const paths = earlier()
      const id = await earlierAgent(paths)
      setFormat(paths, 1)
      const log = readFileSync(paths.agent(id).log)
      withFaults(failing(errno, ({ point }) => point.startsWith('home.upgrade')))
      const store = FileStore.openForWrite(paths.root)
      const session = await reopen(store, id)
      const refused = expect.objectContaining({
        code: 'STORAGE_FAILED',
        facts: expect.objectContaining({ errno }),
      })
      expect(() => session.append([{ kind: 'session.configured', title: 'x' }])).toThrow(refused)
      await session.abandon()
      await expect(newAgent(store)).rejects.toEqual(refused)
      expect(readFileSync(paths.agent(id).log)).toEqual(log)
      expect(store.agentIds()).toEqual([id])
      expect(readHome(paths)).toMatchObject({ format: 1 })
      clearFaults()
      const later = await reopen(store, id)
      later.append([{ kind: 'session.configured', title: 'x' }])
      await later.close(() => false)
      expect(readHome(paths)).toMatchObject({ format: FORMAT })
    },
  )

  test('has its new format on disk before a log is upgraded, also if another process raised it', async () => {
    const paths = earlier()
    const id = await earlierAgent(paths)
    // The other process has renamed home.json, but not yet synced the name.
    setFormat(paths, FORMAT)
    const store = FileStore.openForWrite(paths.root)
    const session = await reopen(store, id)
    const steps = operationsOf(() => session.append([{ kind: 'session.configured', title: 'x' }]))
    const synced = steps.findIndex(({ name, path }) => name === 'sync_directory' && path === paths.root)
    expect(synced).toBeGreaterThanOrEqual(0)
    expect(synced).toBeLessThan(steps.findIndex(({ point }) => point === 'log.append'))
    const more = operationsOf(() => session.append([{ kind: 'session.configured', title: 'y' }]))
    expect(more.map(({ path }) => path)).not.toContain(paths.root)
    await session.close(() => false)
  })
})

describe('a directory that cannot be a home', () => {
  test('is a file or below one', () => {
    const paths = newPaths()
    writeFileSync(paths.root, 'precious')
    for (const act of [() => readHome(paths), () => makeHome(paths, kind)])
      expect(act).toThrow(
        expect.objectContaining({
          code: 'HOME_UNUSABLE',
          message: `the home ${paths.root} is not a directory`,
          hint: 'set SUBSTRAT_HOME to a directory of your own',
        }),
      )
    const below = new HomePaths(join(paths.root, 'home'))
    for (const act of [() => readHome(below), () => makeHome(below, kind)])
      expect(act).toThrow(
        expect.objectContaining({
          code: 'STORAGE_FAILED',
          hint: expect.stringContaining('a file is in the place of a directory'),
        }),
      )
    expect(readFileSync(paths.root, 'utf8')).toBe('precious')
  })

  test('is behind a broken symlink, its own or that of a directory above it', () => {
    const directory = tempDirectory()
    const link = join(directory, 'link')
    symlinkSync('/nonexistent/disk', link)
    for (const [root, what] of [
      [link, 'is a broken symlink'],
      [join(link, 'below', 'home'), `cannot be reached: ${link} is a broken symlink`],
    ] as const)
      for (const act of [() => readHome(new HomePaths(root)), () => makeHome(new HomePaths(root), kind)])
        expect(act).toThrow(
          expect.objectContaining({
            code: 'HOME_UNUSABLE',
            message: `the home ${root} ${what} to /nonexistent/disk`,
            hint: 'mount or restore /nonexistent/disk, or set SUBSTRAT_HOME to another directory',
          }),
        )
    expect(readHome(new HomePaths(join(directory, 'missing', 'home')))).toBeUndefined()
  })

  test.skipIf(!isRoot)(
    'belongs to another user: commands may read it but create nothing (needs root)',
    () => {
      const paths = newPaths()
      makeHome(paths, kind)
      rmSync(paths.slots, { recursive: true })
      chownSync(paths.root, NOBODY, NOBODY)
      expect(readHome(paths)).toMatchObject({ format: FORMAT })
      expect(() => makeHome(paths, kind)).toThrow(
        expect.objectContaining({
          code: 'HOME_UNUSABLE',
          message: `the home ${paths.root} belongs to user ${NOBODY}, but this command runs as user 0`,
        }),
      )
      expect(existsSync(paths.slots)).toBe(false)
      const empty = newPaths()
      mkdirSync(empty.root)
      chownSync(empty.root, NOBODY, NOBODY)
      expect(() => makeHome(empty, kind)).toThrow(expect.objectContaining({ code: 'HOME_UNUSABLE' }))
      expect(readdirSync(empty.root)).toEqual([])
    },
  )

  test.skipIf(isRoot && why !== undefined)('is not writable', async () => {
    const directory = tempDirectory()
    chmodSync(directory, 0o755)
    const root = join(directory, 'home')
    mkdirSync(root, { mode: 0o500 })
    if (isRoot) chownSync(root, NOBODY, NOBODY)
    const child = await Child.start(isRoot ? { uid: NOBODY } : {})
    await expect(child.ask({ do: 'make home', root })).rejects.toMatchObject({
      code: 'HOME_UNUSABLE',
      message: `the home ${root} is closed to its owner: its mode is 0500`,
      hint: `chmod -R u+rwX ${root}`,
    })
    await expect(child.ask({ do: 'make home', root: join(root, 'deeper') })).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
    })
    expect(readdirSync(root)).toEqual([])
    await child.kill()
  })

  test('is on a read-only file system', () => {
    withFaults(failing('EROFS', ({ name }) => name === 'mkdir'))
    expect(() => makeHome(newPaths(), kind)).toThrow(
      expect.objectContaining({
        code: 'STORAGE_FAILED',
        hint: expect.stringContaining('read-only: remount it'),
      }),
    )
  })

  test.each<[unknown, string]>([
    [0, 'format 0'],
    [1.5, 'format 1.5'],
    [FORMAT + 1, `format ${FORMAT + 1}`],
    ['1', 'format "1"'],
    ['x'.repeat(1000), `format "${'x'.repeat(60)}"`],
    [null, 'no number as its format'],
    [undefined, 'no number as its format'],
    [[[[]]], 'no number as its format'],
  ])('has a format that this version does not know (%#)', (format, words) => {
    const paths = newPaths()
    const facts = makeHome(paths, kind)
    const bytes = frame({ ...facts, format: format as number })
    writeFileSync(paths.homeFile, bytes)
    for (const act of [() => readHome(paths), () => makeHome(paths, kind)])
      expect(act).toThrow(
        expect.objectContaining({
          code: 'UNKNOWN_FORMAT',
          message: expect.stringContaining(
            `has ${words}; this version of substrat reads formats 1 to ${FORMAT}`,
          ),
        }),
      )
    expect(readFileSync(paths.homeFile)).toEqual(bytes)
  })

  test.each(['package.json', '.git', 'agents.md'])('has other files (%s), and gets none', (name) => {
    const paths = newPaths()
    mkdirSync(join(paths.root, 'agents'), { recursive: true })
    writeFileSync(join(paths.root, name), '')
    expect(() => makeHome(paths, kind)).toThrow(
      expect.objectContaining({
        code: 'HOME_UNUSABLE',
        message: `${paths.root} is not a substrat home, and has other files, such as ${name}`,
        hint: 'set SUBSTRAT_HOME to a new or an empty directory',
      }),
    )
    expect(readdirSync(paths.root).sort()).toEqual([name, 'agents'].sort())
  })

  test('has an unknown lock kind', () => {
    const paths = newPaths()
    writeFileSync(paths.homeFile, frame({ ...makeHome(paths, kind), lock: 'hope' }))
    expect(() => makeHome(paths, kind)).toThrow(
      expect.objectContaining({
        code: 'CORRUPT',
        message: expect.stringContaining('has an unknown lock kind'),
      }),
    )
  })

  test('has a damaged home.json, which the error names and no command recreates', () => {
    const paths = newPaths()
    makeHome(paths, kind)
    const whole = readFileSync(paths.homeFile)
    const flipped = Buffer.from(whole)
    flipped[20] = (flipped[20] as number) ^ 1
    for (const bytes of [flipped, whole.subarray(0, 40), Buffer.alloc(0), Buffer.alloc(whole.length)]) {
      writeFileSync(paths.homeFile, bytes)
      for (const act of [() => readHome(paths), () => makeHome(paths, kind)])
        expect(act).toThrow(expect.objectContaining({ code: 'CORRUPT', facts: { path: paths.homeFile } }))
      expect(readFileSync(paths.homeFile)).toEqual(bytes)
    }
  })
})

test('without home.json, readers report it missing and the next writer recreates it', async () => {
  const store = tempStore()
  const id = await newAgent(store, { name: 'a' })
  rmSync(join(store.address, 'home.json'))
  writeFileSync(join(store.address, 'notes.txt'), 'of its owner')
  expect(() => FileStore.openForRead(store.address)).toThrow(/home\.json is missing, but the home has agents/)
  FileStore.openForWrite(store.address)
  expect(FileStore.openForRead(store.address)?.agentIds()).toEqual([id])
})
