/**
 * Compares every file in the home with the layout: its owner, mode and type, unknown names, and leftovers of dead writers.
 * It does not need a readable home.json.
 */
import { clock } from '../clock.js'
import { shellWord } from '../errors.js'
import type { Entry, Unseen, Upkeep } from '../storage/store.js'
import { type AddFinding, addFindingTo, type Finding } from './finding.js'

/** If the name of a temporary file or staging directory does not name its writer, one older than this has no living writer. */
const TEMPORARY_AGE_MS = 10 * 60_000
const ON_ITS_WAY_MS = 60_000

const OTHERS = 0o077
const OTHERS_WRITE = 0o022

/** `upkeep` is undefined if home.json cannot be read. Without it locks cannot be probed, so stale locks are not reported. */
export function checkFiles(
  entries: Iterable<Entry | Unseen>,
  upkeep: Upkeep | undefined,
  findings: Finding[],
): void {
  const loose: Entry[] = []
  let home: Entry | undefined
  let foreign: string | undefined
  for (const entry of entries) {
    const found = addFindingTo(findings, entry.agentId)
    if ('error' in entry) {
      found('all files of a home can be read', (entry.error as Error).message, entry.path)
      continue
    }
    // The first entry is the home itself.
    home ??= entry
    // A directory comes before its content, which its remedy mends too.
    if (foreign === undefined || !entry.path.startsWith(`${foreign}/`))
      foreign = checkOwner(entry, home.facts.owner, found) ? undefined : entry.path
    if (isLoose(entry)) loose.push(entry)
    checkKind(entry, found)
    checkStanding(entry, upkeep, found)
  }
  for (const [agentId, group] of looseEntries(loose))
    sayLoose(group, home?.path ?? '', addFindingTo(findings, agentId))
}

/** Entries that are open to other users, grouped by agent; null is the home. */
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

/** Whether other users may read it. For a file of the user's own: whether they may change it. */
function isLoose({ standing, isTheirs, facts }: Entry): boolean {
  // A symlink's mode has no meaning, and an unknown file has a finding of its own.
  if (facts.kind === 'link' || standing === undefined) return false
  return (facts.mode & (isTheirs ? OTHERS_WRITE : OTHERS)) !== 0
}

/** One finding per agent, because copying a home without its modes is one mistake. It names the worst entry. */
function sayLoose(group: Entry[], home: string, found: AddFinding): void {
  const refused = group.find(isRefused)
  const { path, facts } = refused ?? (group[0] as Entry)
  const more = group.length === 1 ? '' : `; other users can also access ${group.length - 1} more`
  const detail = `${path} has mode ${octal(facts.mode)}${more}`
  found('only the owner can access a home', detail, path, refused && closing(home))
}

/** A command that writes, also `doctor --rebuild`, refuses these if other users can write to them. */
function isRefused({ agentId, isTheirs, facts }: Entry): boolean {
  return agentId === null && !isTheirs && (facts.mode & OTHERS_WRITE) !== 0
}

function closing(path: string): string {
  return `chmod -R go-w ${shellWord(path)}`
}

function checkOwner({ path, facts }: Entry, owner: number, found: AddFinding): boolean {
  if (facts.owner === owner) return true
  // With -h, a symlink in it changes no file outside the home.
  const remedy = `ls -la ${shellWord(path)}, then as root: chown -hR ${owner} ${shellWord(path)}`
  const detail = `${path} belongs to user ${facts.owner}, not ${owner}`
  found('all files of a home have one owner', detail, path, remedy)
  return false
}

function checkKind({ path, standing, expectedKind, facts }: Entry, found: AddFinding): void {
  // The user may symlink AGENTS.md or skills into the home.
  if (standing === 'users') return
  if (facts.kind === 'link') found('a home contains no symlinks', `${path} is a symlink`, path)
  else if (expectedKind !== undefined && facts.kind !== expectedKind)
    found(
      'a name of the format has the right file type',
      `${path} is ${WORDS[facts.kind]}, not a ${expectedKind}`,
      path,
    )
}

const WORDS: Record<Entry['facts']['kind'], string> = {
  file: 'a file',
  directory: 'a directory',
  link: 'a symlink',
  socket: 'a socket',
  other: 'a FIFO or a device',
}

function checkStanding(entry: Entry, upkeep: Upkeep | undefined, found: AddFinding): void {
  const { path, standing, facts } = entry
  const ageMs = clock.now() - facts.modifiedMs
  // `checkKind` reports symlinks.
  if (standing === undefined && facts.kind !== 'link')
    found('every file in a home belongs to the format', `${path} is not a file of substrat`, path)
  else if (standing === 'kept')
    found(
      'no set-aside file is left to inspect',
      `${path} was damaged, and was set aside for you to inspect`,
      path,
    )
  else if (standing === 'leftover' && isLeft(entry, ageMs, upkeep))
    found('a temporary file has a living writer', `the process that created ${path} has died`, path)
  else if (standing === 'lock' && upkeep?.lifeOf(path) === 'none') sayStale(path, ageMs, upkeep, found)
}

function isLeft({ path, expectedKind, writer }: Entry, ageMs: number, upkeep: Upkeep | undefined): boolean {
  if (writer !== 'unknown') return writer === 'dead'
  if (expectedKind === 'file') return ageMs > TEMPORARY_AGE_MS
  return ageMs > ON_ITS_WAY_MS && upkeep?.isStagingAlive(path) !== true
}

function sayStale(path: string, ageMs: number, upkeep: Upkeep, found: AddFinding): void {
  if (upkeep.isLocal)
    found('a lock directory is needed', `locks on this file system do not use ${path}`, path)
  else
    found(
      'a lock does not outlive its holder',
      `${path} was last renewed ${Math.round(ageMs / 1000)} s ago; its holder, on this machine or another, has died`,
      path,
    )
}

function octal(mode: number): string {
  return `0${mode.toString(8).padStart(3, '0')}`
}
