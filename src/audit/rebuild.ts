/**
 * `doctor --rebuild`: rebuilds derived files, each under the lock that its writers take. It deletes only dangling index
 * entries and temporary files of dead writers.
 */
import { SubstratError } from '../errors.js'
import { OPERATOR } from '../format.js'
import { damagedMail, damagedOperatorMail } from '../mail/inbox.js'
import { busyError } from '../session/busy.js'
import { openForRead } from '../session/load.js'
import { readableState } from '../session/peek-state.js'
import { openForAppend, type Session } from '../session/session.js'
import type { Entry, Store } from '../storage/store.js'
import { mendIndex } from '../tree/children.js'
import { looseEntries } from './check-files.js'
import type { Finding } from './finding.js'
import { INVARIANTS, type Rebuild } from './invariants.js'
import { type RebuildOptions, rebuildLog } from './rebuild-log.js'

export interface Repair {
  agent_id: string | null
  /** The repair that was made, or why it was not. */
  done: string
  isDone: boolean
  action: Rebuild
  /** What to do about a repair that was not made. */
  hint?: string | undefined
  /** The disk error that stopped the repair. Part of the repair may have been made. */
  failure?: SubstratError
}

/** Permissions first, then logs, then the files that are derived from logs. */
const ORDER: Rebuild[] = ['mode', 'log', 'snapshot', 'keys', 'visit', 'mail', 'sweep', 'index', 'marker']

export async function rebuildHome(
  store: Store,
  findings: Finding[],
  options: RebuildOptions,
): Promise<Repair[]> {
  const repairs: Repair[] = []
  const known = new Known(store)
  for (const action of ORDER) {
    const found = findings.filter(({ invariant }) => INVARIANTS[invariant].rebuild === action)
    for (const agentId of new Set(found.map(({ agent_id }) => agent_id))) {
      try {
        const done = await ACTIONS[action]({ store, agentId, options, known })
        if (done !== undefined) repairs.push({ agent_id: agentId, action, done, isDone: true })
      } catch (error) {
        if (!(error instanceof SubstratError)) throw error
        const { message, hint } = error
        const done = hint === undefined ? message : `${message} (${hint})`
        const isDisk = error.code === 'STORAGE_FAILED' || error.code === 'SYNC_FAILED'
        repairs.push({
          agent_id: agentId,
          action,
          hint,
          done: `not repaired: ${done}`,
          isDone: false,
          ...(isDisk ? { failure: error } : {}),
        })
      }
    }
  }
  return repairs
}

interface RebuildTarget {
  store: Store
  agentId: string | null
  options: RebuildOptions
  known: Known
}

/** Each action returns a sentence about its repair, or undefined if nothing was left to repair. */
const ACTIONS: Record<Rebuild, (target: RebuildTarget) => Promise<string | undefined>> = {
  log: ({ store, agentId, options }) => rebuildLog(store, agentId as string, options),
  async snapshot({ store, agentId, options }) {
    const lease = await store.hold(agentId as string, { command: options.command, waitMs: 0 })
    if (lease === undefined) throw busyError(store, agentId as string)
    try {
      store.upkeep.clearSnapshot(agentId as string)
    } finally {
      await lease.release()
    }
    await visit(store, agentId as string, options.command)
    return 'rebuilt the snapshot from the log'
  },
  async keys({ store, agentId, options }) {
    await visit(store, agentId as string, options.command, (session) => session.rebuildKeys())
    return 'rebuilt the key index from the log'
  },
  async visit({ store, agentId, options }) {
    await visit(store, agentId as string, options.command)
    return 'cleaned up after a dead writer'
  },
  async mail({ store, agentId, options }) {
    const aside =
      agentId === null
        ? setAside(store, null)
        : await underLock(store, agentId, options, () => setAside(store, agentId))
    return aside.length === 0 ? undefined : `set unreadable messages aside as ${aside.join(', ')}`
  },
  async sweep({ store, agentId, options }) {
    if (agentId === null) store.visits.sweep()
    else await underLock(store, agentId, options, () => store.upkeep.sweep(agentId))
    return 'removed the leftover files of dead writers'
  },
  /** Rebuilds the index of the agent's children and the index that has the agent's own name. */
  async index({ store, agentId, options, known }) {
    const own = agentId === null ? undefined : readableState(store, agentId)
    const parents = own === undefined ? [agentId] : [agentId, own.parent]
    for (const parent of parents) {
      if (known.mended.has(parent)) continue
      await mendIndex(store, parent, known.childrenOf(parent), known.isEveryAgentRead, options.command)
      known.mended.add(parent)
    }
    const what = agentId === null ? 'rebuilt the name index of the roots' : 'rebuilt the name indexes'
    return known.isEveryAgentRead ? what : `${what}, without the agents that cannot be read`
  },
  async marker({ store, agentId }) {
    store.visits.mark(agentId as string)
    return 'marked the agent: the next substrat recover --all visits it'
  },
  async mode({ store, agentId, known }) {
    const loose = known.looseOf(agentId)
    const ours = loose.filter(({ facts }) => facts.kind === 'file' || facts.kind === 'directory')
    for (const entry of ours) store.upkeep.tighten(entry)
    if (ours.length === 0) return undefined
    return ours.length === 1
      ? `removed other users' access to ${ours[0]?.path}`
      : `removed other users' access to ${ours.length} files and directories`
  },
}

async function visit(
  store: Store,
  agentId: string,
  command: string,
  act: (session: Session) => void = () => undefined,
): Promise<void> {
  const session = await openForAppend(store, agentId, { command, waitMs: 0 })
  try {
    act(session)
    store.upkeep.sweep(agentId)
  } finally {
    // The marker stays: recovery removes it once the agent has no pending work.
    await session.close(() => true)
  }
}

async function underLock<T>(
  store: Store,
  agentId: string,
  { command }: RebuildOptions,
  act: () => T,
): Promise<T> {
  const lease = await store.hold(agentId, { command: command, waitMs: 0 })
  if (lease === undefined) throw busyError(store, agentId)
  try {
    return act()
  } finally {
    await lease.release()
  }
}

function setAside(store: Store, agentId: string | null): string[] {
  const state = agentId === null ? undefined : openForRead(store, agentId)?.state
  const damaged = state === undefined ? damagedOperatorMail(store) : damagedMail(store, state)
  return damaged.map(({ messageId }) => store.mail.setAside(agentId ?? OPERATOR, messageId))
}

/** Caches the children of each parent and the entries open to other users. Each is read once, on first use. */
class Known {
  private children: Map<string | null, string[]> | undefined
  private loose: Map<string | null, Entry[]> | undefined
  isEveryAgentRead = true
  /** Parents whose indexes were rebuilt. */
  readonly mended = new Set<string | null>()

  constructor(private readonly store: Store) {}

  childrenOf(parentId: string | null): string[] {
    this.children ??= this.read()
    return this.children.get(parentId) ?? []
  }

  looseOf(agentId: string | null): Entry[] {
    this.loose ??= looseEntries(this.store.upkeep.survey())
    return this.loose.get(agentId) ?? []
  }

  private read(): Map<string | null, string[]> {
    const children = new Map<string | null, string[]>()
    for (const id of this.store.agentIds()) {
      const agent = readableState(this.store, id)
      if (agent === undefined) this.isEveryAgentRead = false
      else pushTo(children, agent.parent, id)
    }
    return children
  }
}

function pushTo<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
