/**
 * Every name in the home, held against the layout: whose it is, who may read and write it, what has no business there, and
 * what writers that died have left. It needs no readable home.json.
 */
import { clock } from '../clock.js'
import type { Entry, Unseen, Upkeep } from '../storage/store.js'
import { type AddFinding, addFindingTo, type Finding } from './finding.js'

/** A living writer's temporary file is younger, where its name does not say who that is; so is what a living spawn or removal has on its way. */
const TEMPORARY_AGE_MS = 10 * 60_000
const ON_ITS_WAY_MS = 60_000

const OTHERS = 0o077
const OTHERS_WRITE = 0o022

/** `upkeep` is missing where home.json cannot be read: then nobody can be asked whether a lock is held. */
export function checkFiles(
  entries: Iterable<Entry | Unseen>,
  upkeep: Upkeep | undefined,
  findings: Finding[],
): void {
  const loose: Entry[] = []
  let owner: number | undefined
  for (const entry of entries) {
    const found = addFindingTo(findings, entry.agentId)
    if ('error' in entry) {
      found('all files of a home can be read', (entry.error as Error).message, entry.path)
      continue
    }
    // The home is the first.
    owner ??= entry.facts.owner
    checkOwner(entry, owner, found)
    if (isLoose(entry)) loose.push(entry)
    checkKind(entry, found)
    checkStanding(entry, upkeep, found)
  }
  for (const [agentId, group] of looseEntries(loose)) sayLoose(group, addFindingTo(findings, agentId))
}

/** By the agent in whose directory they are. */
export function looseEntries(entries: Iterable<Entry | Unseen>): Map<string | null, Entry[]> {
  const loose = new Map<string | null, Entry[]>()
  for (const entry of entries) {
    if (!('facts' in entry) || !isLoose(entry)) continue
    const group = loose.get(entry.agentId)
    if (group === undefined) loose.set(entry.agentId, [entry])
    else group.push(entry)
  }
  return loose
}

/** Whether somebody else may read it, or change what the owner has put there. */
function isLoose({ standing, isTheirs, facts }: Entry): boolean {
  // The mode of a link says nothing, and what is not ours is said to be that.
  if (facts.kind === 'link' || standing === undefined) return false
  return (facts.mode & (isTheirs ? OTHERS_WRITE : OTHERS)) !== 0
}

/** One for all of an agent: a home that was copied without its modes is one mistake. */
function sayLoose([first, ...others]: Entry[], found: AddFinding): void {
  if (first === undefined) return
  const more = others.length === 0 ? '' : `, and ${others.length} more`
  found('only the owner can access a home', `its mode is ${octal(first.facts.mode)}${more}`, first.path)
}

function checkOwner({ path, facts }: Entry, owner: number, found: AddFinding): void {
  if (facts.owner !== owner)
    found('all files of a home have one owner', `it belongs to user ${facts.owner}, not ${owner}`, path)
}

function checkKind({ path, standing, expectedKind, facts }: Entry, found: AddFinding): void {
  // Whoever made the home may link its own AGENTS.md, or skills, into it.
  if (standing === 'users') return
  if (facts.kind === 'link') found('a home contains no symlinks', 'it is a symbolic link', path)
  else if (expectedKind !== undefined && facts.kind !== expectedKind)
    found(
      'a name of the format has the right file type',
      `it is ${WORDS[facts.kind]}, not a ${expectedKind}`,
      path,
    )
}

const WORDS: Record<Entry['facts']['kind'], string> = {
  file: 'a file',
  directory: 'a directory',
  link: 'a link',
  socket: 'a socket',
  other: 'a FIFO or a device',
}

function checkStanding(entry: Entry, upkeep: Upkeep | undefined, found: AddFinding): void {
  const { path, standing, facts } = entry
  const ageMs = clock.now() - facts.modifiedMs
  // What a link is, is said already.
  if (standing === undefined && facts.kind !== 'link')
    found('every file in a home belongs to the format', 'it is none of ours', path)
  else if (standing === 'kept') found('no set-aside file is left to inspect', 'it is kept for you', path)
  else if (standing === 'leftover' && isLeft(entry, ageMs, upkeep))
    found('a temporary file has a living writer', 'whoever made it is gone', path)
  else if (standing === 'lock' && upkeep?.lifeOf(path) === 'none') sayStale(path, ageMs, upkeep, found)
}

function isLeft({ path, expectedKind, writer }: Entry, ageMs: number, upkeep: Upkeep | undefined): boolean {
  if (writer !== 'unknown') return writer === 'dead'
  if (expectedKind === 'file') return ageMs > TEMPORARY_AGE_MS
  return ageMs > ON_ITS_WAY_MS && upkeep?.isStagingAlive(path) !== true
}

function sayStale(path: string, ageMs: number, upkeep: Upkeep, found: AddFinding): void {
  if (upkeep.isLocal) found('a lock directory is needed', 'on this file system nobody needs it', path)
  else
    found(
      'a lock does not outlive its holder',
      `untouched for ${Math.round(ageMs / 1000)} s, so its holder is gone, on this machine or another`,
      path,
    )
}

function octal(mode: number): string {
  return `0${mode.toString(8).padStart(3, '0')}`
}
