/**
 * The home. The first command creates it; later commands only open it.
 *
 * Order of creation: home.json (fsynced, linked, its directory fsynced), the directories, an fsync of the home, and
 * last `boots/`. A command that finds `boots/` knows that every other name is on disk and need not fsync it again
 * (durability rule 3). A command that does not find it creates and fsyncs the missing names.
 */
import { basename, dirname } from 'node:path'
import { clock } from '../clock.js'
import { SubstratError, shellWord } from '../errors.js'
import { FORMAT, isKnownFormat } from '../format.js'
import { type FileFacts, readLinkIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { confine } from '../host/disk/operation.js'
import { createWhole, replace } from '../host/disk/replace.js'
import { isTemporaryName } from '../host/disk/temporary.js'
import type { HomeFacts, LockKind } from '../schema/files.js'
import { FILE_PREDICATES } from '../schema/generated/file-predicates.js'
import { randomUuid } from '../start/random.js'
import { closeNewHome, refuseExposedHome } from './home-trust.js'
import { frame, unframeFile } from './log/frame.js'
import { HomePaths, parseAgentDirectory } from './paths.js'
import { migratingError } from './transfer.js'

/** Symlinks are refused in the directories of the format only: the owner's own files, such as skills, may be links. */
export function confinedPaths(root: string): HomePaths {
  const paths = new HomePaths(root)
  confine(paths.directories)
  return paths
}

/** Undefined if there is no home yet. Writes nothing. */
export function readHome(paths: HomePaths): HomeFacts | undefined {
  const root = statIfThere('home.stat', paths.root)
  if (root === undefined) {
    // Newer versions of Node report a path below a file as missing. Listing it still fails (ENOTDIR).
    io.listDirectory('home.stat', paths.root)
    refuseBrokenLink(paths)
    return undefined
  }
  if (root.kind !== 'directory') throw unusableError(paths, 'is not a directory')
  refuseClosed(paths, root, 0o500)
  const facts = readFacts(paths)
  if (facts?.migration !== undefined) throw migratingError(paths.root, facts.migration)
  return facts
}

/** A home behind a broken symlink, such as one to a disk that is not mounted, is not an empty home. */
function refuseBrokenLink(paths: HomePaths): void {
  for (let path = paths.root; dirname(path) !== path; path = dirname(path)) {
    if (statIfThere('home.stat', path) !== undefined) return
    const target = readLinkIfThere(path)
    if (target === undefined) continue
    const what =
      path === paths.root ? 'is a broken symlink' : `cannot be reached: ${path} is a broken symlink`
    throw new SubstratError('HOME_UNUSABLE', `the home ${paths.root} ${what} to ${target}`, {
      hint: `mount or restore ${target}, or set SUBSTRAT_HOME to another directory`,
      facts: { path },
    })
  }
}

/** The same of a home that takes part in a migration, which no other command opens. */
export function readFacts(paths: HomePaths): HomeFacts | undefined {
  const bytes = io.readIfThere('home.read', paths.homeFile)
  if (bytes === undefined) return undefined
  const line = unframeFile(bytes)
  if ('damage' in line) {
    throw new SubstratError('CORRUPT', `${paths.homeFile} is damaged: ${line.damage}`, {
      hint: `restore it from a backup, or set SUBSTRAT_HOME to another directory`,
      facts: { path: paths.homeFile },
    })
  }
  return checkHome(paths, line.object as unknown as HomeFacts)
}

export function makeHome(paths: HomePaths, chooseLockKind: () => LockKind): HomeFacts {
  const there = readHome(paths)
  refuseForeign(paths)
  if (there !== undefined) refuseExposedHome(paths)
  if (there !== undefined && isWhole(paths)) return upgraded(paths, there)
  if (there === undefined) {
    refuseOccupied(paths)
    closeNewHome(paths)
  }
  makeRoot(paths.root)
  if (there === undefined) {
    const facts: HomeFacts = {
      format: FORMAT,
      home_id: randomUuid(),
      lock: chooseLockKind(),
      created_at: new Date(clock.now()).toISOString(),
    }
    createWhole('home.create', paths.homeFile, frame(facts))
  }
  for (const directory of directoriesOf(paths)) io.mkdir('home.mkdir', directory)
  // A new home has no agents, so its empty index of names is complete.
  if (io.listDirectory('home.list', paths.agents).length === 0) {
    const complete = io.createExclusive('home.index', paths.rootNames().complete)
    if (complete !== undefined) io.close(complete)
  }
  for (const directory of [paths.operator, paths.roots, paths.root])
    io.syncDirectory('home.sync_directory', directory)
  io.mkdir('home.ready', paths.boots)
  const facts = readHome(paths)
  if (facts !== undefined) return upgraded(paths, facts)
  throw unusableError(paths, 'was moved or removed while it was being opened')
}

/**
 * Raises the format of a home that an earlier version created. If that is not possible, for example on a full disk, a command
 * that writes no record still works: `HomeFormat.raise` refuses the first record.
 *
 * A crash before the rename leaves format 1 and unchanged logs; one after it leaves a home that this version reads. Commands that
 * do this at the same time write the same bytes.
 */
function upgraded(paths: HomePaths, facts: HomeFacts): HomeFacts {
  try {
    return facts.format === FORMAT ? facts : raiseFormat(paths, facts)
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'STORAGE_FAILED') return facts
    throw error
  }
}

/** On return the format is durable. */
function raiseFormat(paths: HomePaths, facts: HomeFacts): HomeFacts {
  const now = { ...facts, format: FORMAT }
  replace('home.upgrade', paths.homeFile, frame(factsOf(now)), { durableName: true })
  return now
}

/**
 * Raises the format of the home before the first record of this format is written. An earlier version then refuses the whole
 * home by its format. The other logs stay readable, and each is upgraded at its next write.
 */
export class HomeFormat {
  private isDurable = false

  constructor(
    private readonly paths: HomePaths,
    private facts: HomeFacts,
  ) {}

  /** On return the format is durable, also if another process raised it and has not yet synced the new name. */
  raise(): void {
    if (this.isDurable) return
    if (this.facts.format !== FORMAT) this.facts = raiseFormat(this.paths, this.facts)
    else io.syncDirectory('home.sync_directory', this.paths.root)
    this.isDurable = true
  }

  /** Call before an agent is created. */
  assertRaised(): void {
    if (this.facts.format !== FORMAT) this.raise()
  }
}

/** The facts without the checksum that the frame of the old file has. */
function factsOf({ format, home_id, lock, created_at }: HomeFacts): HomeFacts {
  return { format, home_id, lock, created_at }
}

function directoriesOf(paths: HomePaths): string[] {
  return [paths.agents, paths.roots, paths.unclean, paths.operator, paths.operatorInbox, paths.slots]
}

/** False if its creation never finished, or if a backup tool restored it without the empty directories. */
function isWhole(paths: HomePaths): boolean {
  const names = new Set(io.listDirectory('home.list', paths.root))
  return [...directoriesOf(paths), paths.boots].every(
    (path) => dirname(path) !== paths.root || names.has(basename(path)),
  )
}

/**
 * Refuses a home without owner rights: an older version made it under a umask such as 277, or the user removed them.
 * Root needs none.
 */
function refuseClosed(paths: HomePaths, { owner, mode }: FileFacts, needed: number): void {
  const self = process.geteuid?.()
  if (self === undefined || self === 0 || owner !== self || (mode & needed) === needed) return
  throw new SubstratError(
    'HOME_UNUSABLE',
    `the home ${paths.root} is closed to its owner: its mode is ${mode.toString(8).padStart(4, '0')}`,
    { hint: `chmod -R u+rwX ${shellWord(paths.root)}`, facts: { path: paths.root } },
  )
}

/** Refuses another user's home: files made in it would lock that user out. */
function refuseForeign(paths: HomePaths): void {
  const root = statIfThere('home.stat', paths.root)
  const self = process.getuid?.()
  if (root === undefined || self === undefined) return
  const { owner } = root
  if (owner !== self)
    throw unusableError(paths, `belongs to user ${owner}, but this command runs as user ${self}`)
  refuseClosed(paths, root, 0o700)
}

/**
 * Refuses a directory of other files, such as a project: `SUBSTRAT_HOME` names it by mistake. A creator that died has left only
 * names of the layout. A home that has lost its home.json keeps the files that its owner added.
 */
function refuseOccupied(paths: HomePaths): void {
  const names = io.listDirectory('home.list', paths.root)
  const own = [...paths.directories, paths.homeFile, paths.configFile].map((path) => basename(path))
  const other = names.find((name) => !own.includes(name) && !isExpectedBefore(name))
  if (other === undefined || [paths.agents, paths.roots].every((path) => names.includes(basename(path))))
    return
  if (hasAgents(paths)) return
  throw new SubstratError(
    'HOME_UNUSABLE',
    `${paths.root} is not a substrat home, and has other files, such as ${shellWord(other)}`,
    { hint: 'set SUBSTRAT_HOME to a new or an empty directory', facts: { path: paths.root } },
  )
}

/** The files that the owner may add before the first command, those of a dead creator, and the directory that mkfs makes. */
function isExpectedBefore(name: string): boolean {
  return /^(AGENTS\.md|identity\.md|memory\.md|skills|lost\+found)$/.test(name) || isTemporaryName(name)
}

function hasAgents(paths: HomePaths): boolean {
  return io.listDirectory('agents.list', paths.agents).some((name) => parseAgentDirectory(name) !== undefined)
}

function makeRoot(root: string): void {
  if (statIfThere('home.stat', root) === undefined) {
    makeAbove(dirname(root))
    io.mkdir('home.mkdir', root)
  }
  try {
    // Also for an existing home: its creator may have died before this fsync.
    io.syncDirectory('home.sync_directory', dirname(root))
  } catch (error) {
    // This process cannot have made the home in a directory that it may not read.
    if ((error as SubstratError).facts.errno !== 'EACCES') throw error
  }
}

/** Makes and fsyncs the directories above the home: a home is only as durable as its parents. */
export function makeAbove(directory: string): void {
  if (statIfThere('home.stat', directory) !== undefined) return
  makeAbove(dirname(directory))
  io.mkdirAbove('home.mkdir', directory)
  io.syncDirectory('home.sync_directory', dirname(directory))
}

function unusableError(paths: HomePaths, why: string): SubstratError {
  return new SubstratError('HOME_UNUSABLE', `the home ${paths.root} ${why}`, {
    hint: 'set SUBSTRAT_HOME to a directory of your own',
    facts: { path: paths.root },
  })
}

/** Safe for a forged value: the result is bounded, and a deeply nested value causes no recursion. */
function formatInWords(format: unknown): string {
  if (typeof format === 'number') return `format ${format}`
  return typeof format === 'string'
    ? `format ${JSON.stringify(format.slice(0, 60))}`
    : 'no number as its format'
}

function checkHome(paths: HomePaths, facts: HomeFacts): HomeFacts {
  if (!isKnownFormat(facts.format)) {
    const format = formatInWords(facts.format)
    throw new SubstratError(
      'UNKNOWN_FORMAT',
      `the home ${paths.root} has ${format}; this version of substrat reads formats 1 to ${FORMAT}`,
      {
        hint: 'use the version of substrat that created it, or a newer one',
        facts: { path: paths.root, ...(typeof facts.format === 'number' ? { format: facts.format } : {}) },
      },
    )
  }
  if (!FILE_PREDICATES.home.lock?.(facts.lock)) {
    throw new SubstratError('CORRUPT', `${paths.homeFile} has an unknown lock kind`, {
      hint: 'use the version of substrat that created it, or a newer one',
      facts: { path: paths.homeFile },
    })
  }
  return facts
}

/**
 * home.json is created first, so no crash leaves agents without it. Reporting an empty home would hide the agents, or that the
 * directory is not a home.
 */
export function refuseWithoutFacts(paths: HomePaths): void {
  refuseOccupied(paths)
  if (!hasAgents(paths)) return
  throw new SubstratError('CORRUPT', `${paths.homeFile} is missing, but the home has agents`, {
    hint: 'restore it from a backup, or recreate it: substrat recover --all',
    facts: { path: paths.homeFile },
  })
}
