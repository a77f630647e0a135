/**
 * A home in files that takes part in a migration.
 *
 * A home that leaves moves its directories into `left/`, one that arrives is made in `arriving/`: each is a whole home there. A
 * writer that had opened the home before loses the paths of its locks, so it appends nothing more. home.json of the home itself says
 * which of the two holds, and decides: it is written before the directories leave, and after they have arrived.
 */
import { dirname, join } from 'node:path'
import { RUN_AGAIN, SubstratError } from '../errors.js'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { createWhole, replace } from '../host/disk/replace.js'
import { isTemporaryName } from '../host/disk/temporary.js'
import type { HomeFacts } from '../schema/files.js'
import { FileStore } from './file-store.js'
import { makeAbove, readFacts } from './home.js'
import { frame, unframeFile } from './log/frame.js'
import { messageIdsIn } from './maildir.js'
import { HomePaths } from './paths.js'
import { RemovedAgentFiles } from './removed-agents.js'
import type { HomeTransfer, KeptThings, Migration } from './transfer.js'

const [LEFT, ARRIVING] = ['left', 'arriving'] as const

export class FileTransfer implements HomeTransfer {
  private readonly paths: HomePaths

  constructor(readonly label: string) {
    this.paths = new HomePaths(label)
  }

  facts(): ReturnType<HomeTransfer['facts']> {
    const facts = readFacts(this.paths)
    if (facts === undefined) return undefined
    const { home_id: homeId, migration } = facts
    // A new home needs a new directory.
    return { homeId, migration, isEmpty: false }
  }

  store(): FileStore {
    return openStore(this.part(readFacts(this.paths)?.migration))
  }

  arrive(homeId: string, migration: Migration): FileStore {
    const inner = this.inner(ARRIVING)
    this.refuseOccupied()
    if (statIfThere('migrate.stat', this.label) === undefined) {
      makeAbove(dirname(this.label))
      io.mkdir('migrate.mkdir', this.label)
      io.syncDirectory('migrate.sync_directory', dirname(this.label))
    }
    const made = FileStore.openForWrite(inner)
    const facts = { ...made.facts, home_id: homeId }
    // The home has no agent yet, and no other command knows it.
    writeFacts(new HomePaths(inner), facts)
    const isNew = createWhole('migrate.create', this.paths.homeFile, framedFacts({ ...facts, migration }))
    if (!isNew && readFacts(this.paths)?.migration?.id !== migration.id) throw this.occupied('home.json')
    return openStore(inner)
  }

  closeFor(migration: Migration): FileStore {
    const { migration: _, ...facts } = this.ownFacts()
    const inner = this.inner(LEFT)
    if (io.mkdir('migrate.mkdir', inner)) io.syncDirectory('migrate.sync_directory', this.label)
    writeFacts(new HomePaths(inner), facts)
    writeFacts(this.paths, { ...facts, migration })
    moveContent(this.paths, new HomePaths(inner), 'keep')
    return openStore(inner)
  }

  markLeft(): void {
    const { migration, ...facts } = this.ownFacts()
    if (migration !== undefined)
      writeFacts(this.paths, { ...facts, migration: { ...migration, state: 'left' } })
  }

  open(): void {
    this.openFrom(ARRIVING)
  }

  reopen(): void {
    this.openFrom(LEFT)
  }

  /** The empty directory goes first: an open home has no unknown name. */
  private openFrom(part: typeof LEFT | typeof ARRIVING): void {
    const inner = this.inner(part)
    moveContent(new HomePaths(inner), this.paths, 'replace')
    io.removeTree('migrate.remove', inner)
    const { migration: _, ...facts } = this.ownFacts()
    writeFacts(this.paths, facts)
  }

  discard(): void {
    io.removeTree('migrate.remove', this.inner(ARRIVING))
    io.unlink('migrate.remove', this.paths.homeFile)
    io.syncDirectory('migrate.sync_directory', this.label)
  }

  readKept(): KeptThings {
    const paths = new HomePaths(this.part(this.ownFacts().migration))
    const taken = messageIdsIn(paths.operatorTaken).flatMap((messageId) => {
      const path = paths.takenMail(messageId)
      const line = unframeFile(io.readIfThere('migrate.read', path) ?? Buffer.alloc(0))
      const takenMs = statIfThere('migrate.stat', path)?.modifiedMs ?? 0
      return 'damage' in line ? [] : [{ messageId, message: line.object, takenMs: Math.floor(takenMs) }]
    })
    const moves = io.listDirectory('migrate.list', paths.moves).map((name) => {
      const [agentId = '', moveId = ''] = name.split('.')
      return { agentId, moveId }
    })
    const removed = new RemovedAgentFiles(paths).all().flatMap((each) => each.removed ?? [])
    return { taken, moves, removed }
  }

  writeKept({ taken, moves, removed }: KeptThings): void {
    const store = this.store()
    const paths = new HomePaths(store.address)
    if (taken.length > 0) {
      io.mkdir('migrate.mkdir', paths.operatorTaken)
      for (const { messageId, message, takenMs } of taken) {
        const path = paths.takenMail(messageId)
        replace('migrate.taken', path, frame(message), { durableName: true })
        io.touch('migrate.time', path, new Date(takenMs))
      }
      io.syncDirectory('migrate.sync_directory', paths.operator)
    }
    for (const { agentId, moveId } of moves) store.moves.add(agentId, [moveId])
    for (const each of removed) store.removed.put(each)
  }

  /** Nothing may be there but a home that is arriving. */
  private refuseOccupied(): void {
    const isThere = statIfThere('migrate.stat', this.label) !== undefined
    const names = isThere ? io.listDirectory('migrate.list', this.label) : []
    const other = names.find((name) => name !== ARRIVING && name !== 'home.json' && !isTemporaryName(name))
    if (other !== undefined) throw this.occupied(other)
  }

  private occupied(name: string): SubstratError {
    return new SubstratError('HOME_UNUSABLE', `${this.label} is not empty: it has ${name}`, {
      hint: 'name a directory that does not exist yet',
      facts: { path: this.label },
    })
  }

  private ownFacts(): HomeFacts {
    const facts = readFacts(this.paths)
    if (facts !== undefined) return facts
    throw new SubstratError('HOME_UNUSABLE', `there is no home in ${this.label}`, {
      hint: 'name the directory of the home',
    })
  }

  private part(migration: Migration | undefined): string {
    if (migration === undefined) return this.label
    return this.inner(migration.state === 'arriving' ? ARRIVING : LEFT)
  }

  private inner(name: string): string {
    return join(this.label, name)
  }
}

function openStore(root: string): FileStore {
  const store = FileStore.openForRead(root)
  if (store !== undefined) return store
  throw new SubstratError('HOME_UNUSABLE', `there is no home in ${root}`, {
    hint: RUN_AGAIN,
  })
}

/** Durable. */
function writeFacts(paths: HomePaths, facts: HomeFacts): void {
  replace('migrate.facts', paths.homeFile, framedFacts(facts), { durableName: true })
}

function framedFacts({ format, home_id, lock, created_at, migration }: HomeFacts): Buffer {
  return frame({ format, home_id, lock, created_at, ...(migration === undefined ? {} : { migration }) })
}

/**
 * On disk after a crash: some of the directories in each of the two. The next call moves the rest.
 *
 * A command that had opened the home before it closed can create one of the names again, and fails then: `keep` what is in
 * `to` if that is the closed home, `replace` it if `from` is.
 */
function moveContent(from: HomePaths, to: HomePaths, strays: 'keep' | 'replace'): void {
  const names = [...from.directories, from.configFile].map((path) => path.slice(from.root.length + 1))
  for (const name of names) {
    const [path, target] = [join(from.root, name), join(to.root, name)]
    const isTwice = [path, target].every((each) => statIfThere('migrate.stat', each) !== undefined)
    if (isTwice && strays === 'replace') io.removeTree('migrate.remove', target)
    if (!isTwice || strays === 'replace') io.renameIfThere('migrate.move', path, target)
  }
  for (const { root } of [to, from])
    if (statIfThere('migrate.stat', root) !== undefined) io.syncDirectory('migrate.sync_directory', root)
}
