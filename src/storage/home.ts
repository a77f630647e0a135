/**
 * The home: made once, by whichever command is first, and then only opened.
 *
 * Order of making: home.json (synced, linked, its directory synced), the directories, a sync of the home, and last
 * `boots/`. So who sees `boots/` knows that every other name is on disk already and need not sync it again
 * (durability rule 3); who does not see it makes, and syncs, what is missing.
 */
import { basename, dirname } from 'node:path'
import { clock } from '../clock.js'
import { SubstratError, shellWord } from '../errors.js'
import { FORMAT } from '../format.js'
import { type FileFacts, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { createWhole } from '../host/disk/replace.js'
import { randomUuid } from '../start/random.js'
import { frame, unframeFile } from './log/frame.js'
import { type HomePaths, parseAgentDirectory } from './paths.js'

/** `ofd`: fcntl locks of the open file description. `flock`: flock(2). The two do not see each other. */
export type LockKind = 'ofd' | 'flock'

export interface HomeFacts {
  format: number
  home_id: string
  lock: LockKind
  created_at: string
}

/** Undefined where there is no home yet. Writes nothing. */
export function readHome(paths: HomePaths): HomeFacts | undefined {
  const root = statIfThere('home.stat', paths.root)
  if (root === undefined) return undefined
  if (root.kind !== 'directory') throw unusableError(paths, 'is not a directory')
  refuseClosed(paths, root, 0o500)
  const bytes = io.readIfThere('home.read', paths.homeFile)
  if (bytes === undefined) return undefined
  const line = unframeFile(bytes)
  if ('damage' in line) {
    throw new SubstratError('CORRUPT', `${paths.homeFile} is damaged: ${line.damage}`, {
      hint: `restore it from a backup, or set SUBSTRAT_HOME to another place`,
      facts: { path: paths.homeFile },
    })
  }
  return checkHome(paths, line.object as unknown as HomeFacts)
}

export function makeHome(paths: HomePaths, chooseLockKind: () => LockKind): HomeFacts {
  const there = readHome(paths)
  refuseForeign(paths)
  if (there !== undefined && isWhole(paths)) return there
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
  // A home that is just made has every living name in its index: none.
  if (io.listDirectory('home.list', paths.agents).length === 0) {
    const complete = io.createExclusive('home.index', paths.rootNames().complete)
    if (complete !== undefined) io.close(complete)
  }
  for (const directory of [paths.operator, paths.roots, paths.root])
    io.syncDirectory('home.sync_directory', directory)
  io.mkdir('home.ready', paths.boots)
  const facts = readHome(paths)
  if (facts !== undefined) return facts
  throw unusableError(paths, 'was moved or removed while it was being opened')
}

function directoriesOf(paths: HomePaths): string[] {
  return [paths.agents, paths.roots, paths.unclean, paths.operator, paths.operatorInbox, paths.slots]
}

/** Not so where it was never finished, and where it was restored by something that leaves out empty directories. */
function isWhole(paths: HomePaths): boolean {
  const names = new Set(io.listDirectory('home.list', paths.root))
  return [...directoriesOf(paths), paths.boots].every(
    (path) => dirname(path) !== paths.root || names.has(basename(path)),
  )
}

/** Made under a umask such as 277 by an older version, or closed by hand. Root needs no rights. */
function refuseClosed(paths: HomePaths, { owner, mode }: FileFacts, needed: number): void {
  const self = process.geteuid?.()
  if (self === undefined || self === 0 || owner !== self || (mode & needed) === needed) return
  throw new SubstratError(
    'HOME_UNUSABLE',
    `the home ${paths.root} is closed to its owner: its mode is ${mode.toString(8).padStart(4, '0')}`,
    { hint: `chmod -R u+rwX ${shellWord(paths.root)}`, facts: { path: paths.root } },
  )
}

/** Files made in another user's home would lock that user out of it. */
function refuseForeign(paths: HomePaths): void {
  const root = statIfThere('home.stat', paths.root)
  const self = process.getuid?.()
  if (root === undefined || self === undefined) return
  const { owner } = root
  if (owner !== self) throw unusableError(paths, `belongs to user ${owner}, and this runs as user ${self}`)
  refuseClosed(paths, root, 0o700)
}

function makeRoot(root: string): void {
  if (statIfThere('home.stat', root) === undefined) {
    makeAbove(dirname(root))
    io.mkdir('home.mkdir', root)
  }
  try {
    // Also where it was there: who made it may have died before this.
    io.syncDirectory('home.sync_directory', dirname(root))
  } catch (error) {
    // A directory that we may not even read is one where we did not make the home.
    if ((error as SubstratError).facts.errno !== 'EACCES') throw error
  }
}

/** The home is no more durable than what is above it. */
function makeAbove(directory: string): void {
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

function checkHome(paths: HomePaths, facts: HomeFacts): HomeFacts {
  if (facts.format !== FORMAT) {
    throw new SubstratError(
      'UNKNOWN_FORMAT',
      `the home ${paths.root} has format ${facts.format}; this program knows ${FORMAT}`,
      {
        hint: 'use the version of substrat that made it, or a newer one',
        facts: { path: paths.root, format: facts.format },
      },
    )
  }
  if (facts.lock !== 'ofd' && facts.lock !== 'flock') {
    throw new SubstratError('CORRUPT', `${paths.homeFile} names no lock kind that this program knows`, {
      hint: 'use the version of substrat that made it, or a newer one',
      facts: { path: paths.homeFile },
    })
  }
  return facts
}

/** It is made first, so no crash leaves agents without it: to say that there are none would hide them. */
export function refuseWithoutFacts(paths: HomePaths): void {
  if (!io.listDirectory('agents.list', paths.agents).some((name) => parseAgentDirectory(name) !== undefined))
    return
  throw new SubstratError('CORRUPT', `${paths.homeFile} is missing, and the home has agents`, {
    hint: 'restore it from a backup, or have it made again: substrat recover --all',
    facts: { path: paths.homeFile },
  })
}
