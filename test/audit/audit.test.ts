/** The findings of `doctor`: each planted damage by its invariant, and none in an intact home. `--rebuild` repairs derived files. */
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { auditHome } from '../../src/audit/audit.js'
import type { Finding } from '../../src/audit/finding.js'
import { INVARIANTS, type Invariant } from '../../src/audit/invariants.js'
import { type Repair, rebuildHome } from '../../src/audit/rebuild.js'
import { limits } from '../../src/limits.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord } from '../../src/session/records.js'
import { SNAPSHOT_VERSION } from '../../src/session/snapshot.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import { HomePaths } from '../../src/storage/paths.js'
import { forged, posted } from '../support/mail.js'
import { appendTurn, beginning, newAgent, newSession, reopen, terminate } from '../support/sessions.js'
import { encodeSnapshot } from '../support/snapshots.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let paths: HomePaths
let lead: string
let child: string

beforeEach(async () => {
  store = tempStore()
  paths = new HomePaths(store.address)
  lead = await newAgent(store, { name: 'lead' })
  child = await newAgent(store, { name: 'child', parent: lead })
  const session = await reopen(store, lead)
  appendTurn(session, 'hello', 'x'.repeat(70_000))
  await session.close(() => false)
})

async function found(isWhole = true): Promise<Finding[]> {
  return (await auditHome(store, isWhole, 0)).findings
}

async function rebuilt(): Promise<Repair[]> {
  return rebuildHome(store, await found(), { command: 'substrat doctor', note: () => undefined })
}

function stateOf(id: string): State {
  return openForRead(store, id)?.state as State
}

test('a snapshot with its fields in another order is not a finding', async () => {
  const { keys_since, ...rest } = stateOf(lead)
  // Such as a converted snapshot, or the snapshot of an agent whose server was replaced.
  const other = { snapshot: SNAPSHOT_VERSION, ...rest, keys_since }
  writeFileSync(paths.agent(lead).snapshot, frame(other))
  expect(await found()).toEqual([])
})

function blobOf(id: string): string {
  const { blobs } = paths.agent(id)
  return join(blobs, readdirSync(blobs)[0] as string)
}

function flip(file: string, at: number): void {
  const bytes = readFileSync(file)
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(file, bytes)
}

function age(path: string, ms = 3_600_000): void {
  const then = new Date(Date.now() - ms)
  utimesSync(path, then, then)
}

/** A file old enough to count as a leftover. */
function plant(path: string, text = ''): void {
  writeFileSync(path, text, { mode: 0o600 })
  age(path)
}

/** Runs a turn that waits for an answer until `until`, and then appends the records in `after`. */
async function ask(id: string, until: string, ...after: NewRecord[]): Promise<void> {
  const session = await reopen(store, id)
  const [run_id, token_id] = [randomUUID(), randomUUID()]
  session.append([
    ...beginning(session, run_id, 'work'),
    { kind: 'token.minted', run_id, token_id, hash: 'h', expires_at: until },
    { kind: 'run.waiting', run_id, wait: 'input', token_id, asks: [], deadline_at: until },
    { kind: 'session.suspended', reason: 'idle' },
  ])
  const ended = after.map((record) => ('run_id' in record ? { ...record, run_id } : record) as NewRecord)
  session.append(ended)
  await session.close(() => true)
}

async function leaveOpen(id: string, records: NewRecord[] = []): Promise<void> {
  const session = await reopen(store, id)
  const run = randomUUID()
  session.append([...beginning(session, run, 'work'), ...records])
  await session.abandon()
}

/** Planted damage, its finding, and the effect of `--rebuild` on the finding: `mended`, `stays`, or the finding that replaces it. */
type Case = [
  title: string,
  plant: () => void | Promise<void>,
  invariant: Invariant,
  after: 'mended' | 'stays' | Invariant,
]

const CASES: Case[] = [
  [
    'a flipped byte in an old record',
    () => flip(paths.agent(lead).log, 100),
    'a log is intact up to its last batch',
    'no set-aside file is left to inspect',
  ],
  [
    'a log that lost acknowledged records',
    () => truncateSync(paths.agent(lead).log, 500),
    'a log is intact up to its last batch',
    'no set-aside file is left to inspect',
  ],
  [
    'a missing log',
    () => rmSync(paths.agent(child).log),
    'an agent has its log',
    'no set-aside file is left to inspect',
  ],
  [
    'a truncated tail',
    () => writeFileSync(paths.agent(child).log, '{"seq":2,"ts', { flag: 'a' }),
    'a truncated tail is removed by the next writer',
    'no set-aside file is left to inspect',
  ],
  ['a missing snapshot', () => rmSync(paths.agent(child).snapshot), 'a snapshot is intact', 'mended'],
  [
    'a snapshot with a flipped byte',
    () => flip(paths.agent(child).snapshot, 60),
    'a snapshot is intact',
    'mended',
  ],
  [
    'a snapshot that differs from the log',
    () => writeFileSync(paths.agent(child).snapshot, encodeSnapshot({ ...stateOf(child), hold: true })),
    'the snapshot matches the log',
    'mended',
  ],
  [
    'a snapshot with a value of a wrong type',
    () =>
      writeFileSync(
        paths.agent(child).snapshot,
        encodeSnapshot({ ...stateOf(child), tokens: 'none' as unknown as State['tokens'] }),
      ),
    'the snapshot matches the log',
    'mended',
  ],
  ['a missing blob', () => rmSync(blobOf(lead)), 'a blob named by a record exists and is intact', 'stays'],
  [
    'a blob with a flipped byte',
    () => flip(blobOf(lead), 7),
    'a blob named by a record exists and is intact',
    'stays',
  ],
  [
    'a blob that no record names',
    () => plant(paths.agent(child).blob('0'.repeat(64))),
    'a blob is named by a record',
    'stays',
  ],
  [
    'half a message to an agent',
    () => plant(paths.agent(child).mail(randomUUID()), '{"mess'),
    'a file in an inbox is a message',
    'no set-aside file is left to inspect',
  ],
  [
    'half a message to the operator',
    () => plant(paths.operatorMail(randomUUID()), '{"mess'),
    'a file in an inbox is a message',
    'no set-aside file is left to inspect',
  ],
  [
    'a living agent whose name does not resolve',
    () => store.names(lead).forget('child'),
    'the name of a living agent resolves to it',
    'mended',
  ],
  [
    'an index that may lack entries',
    () => rmSync(paths.agent(lead).childNames().complete),
    'an index of names is complete',
    'mended',
  ],
  [
    'an index entry with a flipped byte',
    () => flip(paths.rootNames().entry('lead'), 9),
    'an index entry is intact',
    'mended',
  ],
  [
    'an index entry without an agent',
    () => store.names(null).reserve('ghost', randomUUID()),
    'an index entry names an agent',
    'mended',
  ],
  [
    'a marker without an agent',
    () => store.visits.mark(randomUUID()),
    'a marker belongs to an agent',
    'stays',
  ],
  [
    'a recorded server without an agent',
    () => store.local.keptServers.touch(randomUUID()),
    'a recorded server has its agent',
    'stays',
  ],
  [
    'a stop request to an ended run',
    () => store.requests.put(child, randomUUID(), 'cancel'),
    'a stop request names the open run',
    'mended',
  ],
  [
    'a recorded wait whose process is gone',
    () => {
      mkdirSync(paths.agent(child).waits, { mode: 0o700 })
      plant(paths.agent(child).waitEdge(lead, randomUUID()))
    },
    'a recorded wait has its process',
    'mended',
  ],
  [
    'a temporary file of a dead writer',
    () => plant(`${paths.agent(child).snapshot}.7-1abc.tmp`),
    'a temporary file has a living writer',
    'mended',
  ],
  [
    'a temporary file in an index',
    () => plant(`${paths.agent(lead).childNames().entry('x')}.7-1abc.tmp`),
    'a temporary file has a living writer',
    'mended',
  ],
  [
    'a partly created agent',
    () => {
      const { root } = paths.spawning(randomUUID())
      mkdirSync(root, { mode: 0o700 })
      age(root)
    },
    'a temporary file has a living writer',
    'mended',
  ],
  [
    'a partly removed agent',
    () => {
      const root = paths.removedPath(randomUUID())
      mkdirSync(root, { mode: 0o700 })
      age(root)
    },
    'a temporary file has a living writer',
    'mended',
  ],
  [
    'a file that is not part of the format',
    () => plant(join(paths.agent(child).root, 'notes.txt')),
    'every file in a home belongs to the format',
    'stays',
  ],
  [
    'a home that other users can enter',
    () => chmodSync(store.address, 0o755),
    'only the owner can access a home',
    'mended',
  ],
  [
    'a log that other users can read',
    () => chmodSync(paths.agent(child).log, 0o644),
    'only the owner can access a home',
    'mended',
  ],
  [
    'a prompt file that other users can change',
    () => {
      writeFileSync(join(store.address, 'AGENTS.md'), '')
      chmodSync(join(store.address, 'AGENTS.md'), 0o666)
    },
    'only the owner can access a home',
    'mended',
  ],
  [
    'a symlink in place of an inbox',
    () => {
      renameSync(paths.agent(child).inbox, join(store.address, 'skills'))
      symlinkSync(join(store.address, 'skills'), paths.agent(child).inbox)
    },
    'a home contains no symlinks',
    'stays',
  ],
  [
    'a symlink to a file outside the home',
    () => symlinkSync('/etc/passwd', join(paths.agent(child).root, 'planted')),
    'a home contains no symlinks',
    'stays',
  ],
  [
    'a directory in place of a file',
    () => {
      rmSync(paths.agent(child).requests, { recursive: true })
      mkdirSync(`${paths.agent(child).root}/server.out`, { mode: 0o700 })
    },
    'a name of the format has the right file type',
    'stays',
  ],
  [
    'a lock directory on a local file system',
    () => mkdirSync(`${paths.agent(child).lock}.d`, { mode: 0o700 }),
    'a lock directory is needed',
    'stays',
  ],
  [
    'a living child of a terminated parent',
    () => terminate(store, lead),
    "an agent's parent exists and outlives it",
    'stays',
  ],
  [
    'a question that was not answered in time',
    () => ask(child, '2026-01-01T10:00:00.000Z'),
    'a waiting run can still continue',
    'stays',
  ],
  [
    'a token that outlived its turn',
    () =>
      ask(
        child,
        '9999-01-01T10:00:00.000Z',
        { kind: 'run.cancelled', run_id: '', reason: 'cancelled' },
        { kind: 'mail.answered' },
      ),
    'a valid token belongs to the open wait',
    'stays',
  ],
  ['a turn whose process is gone', () => leaveOpen(child), 'an active session has a holder', 'stays'],
]

test('the audit of an intact home finds nothing, quick or complete', async () => {
  posted(store, child, 'hello', { from: lead })
  // With the mode that an editor gives a new file.
  writeFileSync(join(store.address, 'identity.md'), 'I am.', { mode: 0o644 })
  writeFileSync(paths.configFile, '{}', { mode: 0o644 })
  expect(await found(false)).toEqual([])
  expect(await found(true)).toEqual([])
})

test.each(CASES)('the audit finds %s', async (_, plantIt, invariant, after) => {
  await plantIt()
  const findings = await found()
  expect(findings.map((finding) => finding.invariant)).toEqual([invariant])
  const before = JSON.stringify(findings)
  const repairs = await rebuilt()
  const left = (await found()).map((finding) => finding.invariant)
  if (after === 'stays') expect(JSON.stringify(await found())).toBe(before)
  // The log that was set aside names blobs that the new log does not name.
  else
    expect(new Set(left.filter((each) => each !== 'a blob is named by a record'))).toEqual(
      new Set(after === 'mended' ? [] : [after]),
    )
  expect(repairs.length > 0).toBe(INVARIANTS[invariant].rebuild !== undefined)
})

test('the audit names an entry that others can write before one that they can only read, with the command that closes the home', async () => {
  writeFileSync(join(store.address, 'config.json'), '{}')
  chmodSync(store.address, 0o755)
  chmodSync(join(store.address, 'config.json'), 0o666)
  chmodSync(join(store.address, 'home.json'), 0o622)
  expect(await found()).toMatchObject([
    {
      invariant: 'only the owner can access a home',
      detail: expect.stringContaining('home.json has mode 0622; other users can also access 2 more'),
      remedy: `chmod -R go-w ${store.address}`,
    },
  ])
})

test.runIf(process.getuid?.() === 0)('the audit finds a file of another user', async () => {
  chownSync(paths.agent(child).log, 12345, 12345)
  expect(await found()).toMatchObject([
    { invariant: 'all files of a home have one owner', path: paths.agent(child).log },
  ])
})

test('a wait that can still be answered is not a finding', async () => {
  await ask(child, '9999-01-01T10:00:00.000Z')
  expect(await found()).toEqual([])
})

describe('a quick audit', () => {
  test('reads as much of each log as commands do, and the whole log of a marked agent', async () => {
    const session = await reopen(store, lead)
    // Commands check only the end of a log. This record is so large that they do not reach the damage.
    session.append([{ kind: 'session.configured', title: 'x'.repeat(limits.logCheckedForReadBytes) }])
    await session.close(() => false)
    flip(paths.agent(lead).log, 100)
    expect(await found(false)).toEqual([])
    store.visits.mark(lead)
    expect(await found(false)).toMatchObject([{ invariant: 'a log is intact up to its last batch' }])
  })

  test('reports how many logs it read completely, and the holders', async () => {
    const session = await newSession(store, { name: 'held' })
    expect(await auditHome(store, false, 0)).toMatchObject({
      agents: 3,
      whole: 1,
      held: [{ agent_id: session.id, holder: { pid: process.pid } }],
    })
    await session.abandon()
  })
})

describe('an audit beside a living writer', () => {
  test('does not report a step that the writer has begun', async () => {
    const session = await reopen(store, child)
    session.append(beginning(session, randomUUID(), 'work'))
    store.requests.put(child, randomUUID(), 'cancel')
    session.writeBlob(Buffer.from('on its way'))
    const index = await store.names(null).lock('a spawn')
    store.names(null).reserve('soon', randomUUID())
    expect(await found()).toEqual([])
    await index.release()
    await session.abandon()
  })

  test('reports nothing that the second check does not find', async () => {
    store.visits.mark(randomUUID())
    const looking = auditHome(store, true, 50)
    for (const id of store.visits.markedIds()) store.visits.unmark(id, () => false)
    expect((await looking).findings).toEqual([])
  })

  test('reports no idle finding for an agent whose log has grown', async () => {
    await leaveOpen(child)
    const looking = auditHome(store, true, 50)
    const session = await reopen(store, child)
    session.append([{ kind: 'provider.state', state: 'later' }])
    await session.abandon()
    expect((await looking).findings).toEqual([])
  })
})

test('an agent that is removed during its check is not a finding', async () => {
  await terminate(store, child)
  const removed: FileStore = Object.create(store, {
    agentIds: { value: () => [lead, child, randomUUID()] },
  })
  expect((await auditHome(removed, true, 0)).findings).toEqual([])
  expect((await auditHome(removed, false, 0)).findings).toEqual([])
})

describe('a missing marker', () => {
  test('is found for an agent with mail once all agents were scanned since boot, and --rebuild creates it', async () => {
    forged(store, child, 'nobody looks here')
    store.visits.markComplete()
    expect(await found()).toMatchObject([
      { invariant: 'an agent with pending work is marked', agent_id: child },
    ])
    await rebuilt()
    expect(store.visits.isMarked(child)).toBe(true)
    expect(await found()).toEqual([])
  })

  test.each([
    ['that was poked', 'agent.poked'],
    ['with a reminder', 'reminder.set'],
  ] as const)('is found for an agent %s', async (_, kind) => {
    const session = await reopen(store, child)
    const run_id = randomUUID()
    session.append([
      ...beginning(session, run_id, 'x'),
      { kind: 'run.failed', run_id, error: { type: 'crashed', message: 'it broke' } },
      { kind: 'session.suspended', reason: 'idle' },
      { kind: 'mail.answered' },
      kind === 'agent.poked'
        ? { kind, message_id: randomUUID(), from: 'operator' }
        : {
            kind,
            reminder_id: randomUUID(),
            content: 'x',
            due_at: '9999-11-20T10:00:00.000Z',
            every_ms: null,
          },
    ])
    await session.close(() => false)
    store.visits.markComplete()
    expect((await found()).map(({ invariant }) => invariant)).toEqual([
      'an agent with pending work is marked',
    ])
  })
})

describe('garbage in place of any file', () => {
  test('does not crash the audit', async () => {
    const files = readdirSync(store.address, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name !== 'home.json',
    )
    const isEmptied = (name: string): boolean => !existsSync(join(store.address, name))
    for (const name of files) {
      if (isEmptied(name)) continue
      const path = join(store.address, name)
      const aside = join(dirname(store.address), 'aside')
      renameSync(path, aside)
      for (const garbage of [
        () => writeFileSync(path, 'garbage'),
        () => mkdirSync(path),
        () => symlinkSync('/nowhere', path),
      ]) {
        garbage()
        const outcome = await auditHome(store, true, 0).catch((error: Error) => error)
        if (outcome instanceof Error) expect(outcome.name, `${name}: ${outcome.stack}`).toBe('SubstratError')
        rmSync(path, { recursive: true })
      }
      renameSync(aside, path)
    }
    expect(await found()).toEqual([])
  })
})
