/**
 * `migrate`: moves a whole home to another store, byte for byte: logs, blobs, mail, keys, names, settings. The home keeps its id.
 *
 * Turns that run end first. The source closes before the first agent is copied, and the target opens after the source can no longer be reopened. The table in
 * `storage/transfer.ts` has what a kill leaves; the same command continues from there. The target keeps the agents that it has already:
 * each is created whole, and nothing in a closed home changes.
 */
import { auditHome } from '../../audit/audit.js'
import { INVARIANTS } from '../../audit/invariants.js'
import { clock, sleep } from '../../clock.js'
import { SubstratError, shellWord } from '../../errors.js'
import { OPERATOR } from '../../format.js'
import { busyError } from '../../session/busy.js'
import { keyRetentionAt } from '../../session/key-index.js'
import { openForRead } from '../../session/load.js'
import { snapshotOf } from '../../session/snapshot.js'
import { randomUuid } from '../../start/random.js'
import { type HomeTransfer, type Migration, migratingError, nextOf } from '../../storage/open.js'
import type { Names, Right, Store, Unframed } from '../../storage/store.js'
import { endKeptServers } from './migrated-servers.js'
import { differences } from './migrated-things.js'

const CHECK_MS = 50

export interface MigrateOptions {
  command: string
  /** How long to wait for commands that use the source. */
  waitMs: number
  onCopied(done: number, total: number): void
}

export interface Migrated {
  from: string
  to: string
  agents: number
  /** False if an earlier command had already done it. */
  migrated: boolean
}

export async function migrate(
  from: HomeTransfer,
  to: HomeTransfer,
  options: MigrateOptions,
): Promise<Migrated> {
  const [source, target] = [from.facts(), to.facts()]
  if (source === undefined) throw noHome(from)
  const result = { from: from.label, to: to.label }
  if (source.migration?.state === 'left') {
    if (target?.homeId !== source.homeId) throw migratingError(from.label, source.migration)
    const { migration } = target
    // The target has moved on since.
    if (migration !== undefined && migration.state !== 'arriving') throw migratingError(to.label, migration)
    // The content was compared before the source left.
    if (migration !== undefined) to.open()
    return { ...result, agents: to.store().agentIds().length, migrated: migration !== undefined }
  }
  if (source.migration?.state === 'arriving') throw wrongWay(from, source.migration)
  const id = continuedId(from, to)
  if (source.migration === undefined) {
    await untilUnused(from.store(), options.waitMs)
    await refuseDamaged(from.store(), from.label)
  }
  const arriving = to.arrive(source.homeId, { id, state: 'arriving', other: from.label })
  const roots = arriving.names(null)
  const isOver = (): boolean => to.facts()?.migration?.id !== id || from.facts()?.migration?.state === 'left'
  const alone = await lockAgainstOthers(to, roots, options.command, isOver)
  try {
    if (isOver()) throw alreadyRuns(to)
    const leaving = from.closeFor({ id, state: 'leaving', other: to.label })
    await untilUnused(leaving, options.waitMs)
    await endKeptServers(leaving, from.label)
    await copyHome(leaving, arriving, roots, options)
    to.writeKept(from.readKept())
    const different = differences(
      { store: leaving, kept: from.readKept() },
      { store: arriving, kept: to.readKept() },
    )
    if (different.length > 0) throw differs(from, to, different)
    await refuseDamaged(arriving, to.label)
    alone.assertHeld()
    from.markLeft()
    to.open()
    return { ...result, agents: leaving.agentIds().length, migrated: true }
  } finally {
    await alone.release()
  }
}

/** Opens the source again. The target is emptied first: it must not be continued later, when the source has changed. */
export function cancelMigration(from: HomeTransfer, to: HomeTransfer): void {
  const [source, target] = [from.facts(), to.facts()]
  if (source === undefined) throw noHome(from)
  const { migration } = source
  if (migration?.state === 'left')
    throw new SubstratError('SESSION_STATE', `the home ${from.label} was migrated, and cannot be reopened`, {
      hint: `migrate it back: substrat migrate --from ${shellWord(to.label)} --to NEW_HOME`,
    })
  if (migration?.state === 'arriving') throw wrongWay(from, migration)
  const isOurs = target?.migration?.state === 'arriving' && target.homeId === source.homeId
  if (migration !== undefined && !isOurs) sameTarget(from, migration, to)
  if (migration === undefined && !isOurs)
    throw new SubstratError('USAGE', `no migration from ${from.label} to ${to.label} has begun`, {
      hint: 'name the homes of the migration that you want to undo',
    })
  if (isOurs) to.discard()
  if (migration !== undefined) from.reopen()
}

/** The id of the migration that both homes are in, or a new one. Throws if one of them is in another. */
function continuedId(from: HomeTransfer, to: HomeTransfer): string {
  const [source, target] = [from.facts(), to.facts()]
  const [leaving, arriving] = [source?.migration, target?.migration]
  if (arriving === undefined) {
    if (target !== undefined && !target.isEmpty) throw occupied(to)
    if (leaving !== undefined) return sameTarget(from, leaving, to).id
    return randomUuid()
  }
  const isOurs = arriving.state === 'arriving' && target?.homeId === source?.homeId
  if (!isOurs || (leaving !== undefined && leaving.id !== arriving.id)) throw occupied(to)
  return arriving.id
}

function sameTarget(from: HomeTransfer, leaving: Migration, to: HomeTransfer): Migration {
  if (leaving.other === to.label) return leaving
  throw new SubstratError('HOME_UNUSABLE', `the home is in a migration to ${leaving.other}`, {
    hint: nextOf(from.label, leaving.other),
    facts: { to: leaving.other },
  })
}

/** An agent that a command holds may have a running tool, which must not run in both homes. */
async function untilUnused(store: Store, waitMs: number): Promise<void> {
  const end = clock.monotonic() + waitMs
  for (const id of store.agentIds()) {
    while (store.isHeld(id)) {
      if (clock.monotonic() >= end) throw busyError(store, id)
      await sleep(CHECK_MS)
    }
  }
}

/** The lock of the first level of names, which no other command needs in a home that is arriving. */
async function lockAgainstOthers(
  to: HomeTransfer,
  roots: Names,
  command: string,
  isOver: () => boolean,
): Promise<Right> {
  try {
    return await roots.lock(command)
  } catch (error) {
    // The file of the lock moves when another command opens the target.
    const isBusy = error instanceof SubstratError && (error.code === 'LOCKED' || isOver())
    throw isBusy ? alreadyRuns(to) : error
  }
}

async function copyHome(
  source: Store,
  target: Store,
  roots: Names,
  { command, onCopied }: MigrateOptions,
): Promise<void> {
  const ids = source.agentIds()
  for (const [index, id] of ids.entries()) {
    onCopied(index, ids.length)
    if (!target.hasAgent(id)) await copyAgent(source, target, id, command)
    copyKeys(source, target, id)
    copyMail(source, target, id)
  }
  copyMail(source, target, OPERATOR)
  copyNames(source.names(null), roots)
  for (const id of ids) await copyChildNames(source.names(id), target.names(id), command)
  for (const host of source.hosts.all()) target.hosts.declare(host)
  const config = source.readConfig()
  if (config !== undefined && target.readConfig()?.equals(config) !== true)
    target.writeConfig(config.toString('utf8'))
  onCopied(ids.length, ids.length)
}

async function copyAgent(source: Store, target: Store, agentId: string, command: string): Promise<void> {
  const state = openForRead(source, agentId)?.state
  const log = source.openLog(agentId)
  if (state === undefined || log === undefined)
    throw new SubstratError('UNEXPECTED', `agent ${agentId} is gone`)
  try {
    const blobs = source.upkeep.blobNames(agentId).map((blob) => source.readBlob(agentId, { blob, bytes: 0 }))
    const bytes = Buffer.from(log.read(0, log.size()))
    if (state.budget?.caps !== undefined) target.accounts?.open(agentId)
    const birth = { agentId, log: bytes, snapshot: snapshotOf(state), blobs, command }
    const lease = await target.create(birth)
    await lease.release()
  } finally {
    log.close()
  }
}

function copyKeys(source: Store, target: Store, agentId: string): void {
  const index = source.keys.open(agentId)
  const state = openForRead(source, agentId)?.state
  try {
    const known = index?.entries()
    if (index === undefined || known === undefined || state === undefined) return
    target.keys.write(index.end, { known, added: new Map(), kept: keyRetentionAt(state) })
  } finally {
    index?.close()
  }
}

function copyMail({ mail: source }: Store, { mail: target }: Store, to: string): void {
  for (const id of source.ids(to)) target.put(to, id, messageIn(source.read(to, id)))
  if (to === OPERATOR) return
  for (const id of source.idsToReturn(to)) {
    target.put(to, id, messageIn(source.readToReturn(to, id)))
    target.setToReturn(to, id)
  }
}

/** Without the checksum, which the target computes again. */
function messageIn(line: Unframed | undefined): object {
  if (line === undefined || 'damage' in line) return {}
  const { crc: _, ...message } = line.object
  return message
}

async function copyChildNames(from: Names, to: Names, command: string): Promise<void> {
  if (from.entries().length === 0 && (to.isComplete || !from.isComplete)) return
  const lock = await to.lock(command)
  try {
    copyNames(from, to)
  } finally {
    await lock.release()
  }
}

/** Under the lock of the target. */
function copyNames(from: Names, to: Names): void {
  for (const id of from.entries().flatMap(({ agentId }) => agentId ?? [])) {
    const name = from.nameOf(id) ?? id
    if (to.lookUp(name) !== id) to.reserve(name, id)
  }
  if (from.isComplete && !to.isComplete) to.markComplete()
}

/** A home that is damaged is repaired first, with its own store. */
async function refuseDamaged(store: Store, label: string): Promise<void> {
  const { findings } = await auditHome(store, true)
  const damaged = findings.filter(({ invariant }) => INVARIANTS[invariant].verdict === 'damaged')
  const [first] = damaged
  if (first === undefined) return
  throw new SubstratError('CORRUPT', `the home ${label} is damaged: ${first.detail}`, {
    hint: 'see all of it: substrat doctor --all',
    facts: { home: label, findings: damaged.length },
  })
}

function differs(from: HomeTransfer, to: HomeTransfer, different: string[]): SubstratError {
  return new SubstratError(
    'CORRUPT',
    `the copy of the home differs from it: ${different.slice(0, 5).join(', ')}`,
    {
      hint: `reopen the home: substrat migrate --from ${shellWord(from.label)} --to ${shellWord(to.label)} --cancel`,
      facts: { different: different.slice(0, 100) },
    },
  )
}

function noHome({ label }: HomeTransfer): SubstratError {
  return new SubstratError('HOME_UNUSABLE', `there is no home at ${label}`, {
    hint: 'name the home that moves: --from',
  })
}

function wrongWay({ label }: HomeTransfer, { other }: Migration): SubstratError {
  return new SubstratError(
    'HOME_UNUSABLE',
    `the home ${label} is the target of a migration that has not ended`,
    { hint: nextOf(other, label) },
  )
}

function alreadyRuns({ label }: HomeTransfer): SubstratError {
  return new SubstratError('LOCKED', `another command migrates to ${label}`, {
    hint: 'wait for that command, or end it, then run this one again',
  })
}

function occupied({ label }: HomeTransfer): SubstratError {
  return new SubstratError('HOME_UNUSABLE', `${label} is another home already, and is not empty`, {
    hint: 'name a directory that does not exist yet, or a database after substrat store init',
  })
}
