/**
 * `doctor --rebuild`: what can be made again is made again, each thing under the lock that its writers take. Nothing is deleted
 * but what nobody needs: entries that lead nowhere, and temporary files of writers that are gone.
 */
import { SubstratError } from '../errors.js'
import { damagedMail, damagedOperatorMail } from '../mail/inbox.js'
import { openForRead } from '../session/load.js'
import { readableState } from '../session/peek-state.js'
import { busyError, openForAppend, type Session } from '../session/session.js'
import { type Entry, FileStore } from '../storage/store.js'
import { mendIndex } from '../tree/children.js'
import { looseEntries } from './check-files.js'
import type { Finding } from './finding.js'
import { INVARIANTS, type Rebuild } from './invariants.js'
import { type RebuildOptions, rebuildLog } from './rebuild-log.js'

export interface Repair {
  agent_id: string | null
  /** What was done, or why it was not. */
  done: string
  isDone: boolean
  /** Where the disk was in the way: then nobody knows what of it was done. */
  failure?: SubstratError
}

/** First who may write at all, then what everything else reads, then what is made of it. */
const ORDER: Rebuild[] = ['mode', 'log', 'snapshot', 'keys', 'visit', 'mail', 'sweep', 'index', 'marker']

export async function rebuildHome(
  store: FileStore,
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
        if (done !== undefined) repairs.push({ agent_id: agentId, done, isDone: true })
      } catch (error) {
        if (!(error instanceof SubstratError)) throw error
        const { message, hint } = error
        const done = hint === undefined ? message : `${message} (${hint})`
        const isDisk = error.code === 'STORAGE_FAILED' || error.code === 'SYNC_FAILED'
        repairs.push({
          agent_id: agentId,
          done: `left as it is: ${done}`,
          isDone: false,
          ...(isDisk ? { failure: error } : {}),
        })
      }
    }
  }
  return repairs
}

interface RebuildTarget {
  store: FileStore
  agentId: string | null
  options: RebuildOptions
  known: Known
}

/** Each says what it did, or undefined where there was nothing to do any more. */
const ACTIONS: Record<Rebuild, (target: RebuildTarget) => Promise<string | undefined>> = {
  log: ({ store, agentId, options }) => rebuildLog(store, agentId as string, options),
  async snapshot({ store, agentId, options }) {
    const lease = await store.lockAgent(agentId as string, options.command, 0)
    if (lease === undefined) throw busyError(store, agentId as string)
    try {
      store.snapshots.clear(agentId as string)
    } finally {
      await lease.release()
    }
    await visit(store, agentId as string, options.command)
    return 'its snapshot was made again from its log'
  },
  async keys({ store, agentId, options }) {
    await visit(store, agentId as string, options.command, (session) => session.rebuildKeys())
    return 'its key index was made again from its log'
  },
  async visit({ store, agentId, options }) {
    await visit(store, agentId as string, options.command)
    return 'what a dead writer had left was put right'
  },
  async mail({ store, agentId, options }) {
    const aside =
      agentId === null
        ? setAside(store, null)
        : await underLock(store, agentId, options, () => setAside(store, agentId))
    return aside.length === 0 ? undefined : `what is no message is kept as ${aside.join(', ')}`
  },
  async sweep({ store, agentId, options }) {
    if (agentId === null) store.sweepHome()
    else await underLock(store, agentId, options, () => store.sweepAgent(agentId))
    return 'what dead writers had left was removed'
  },
  /** That of its children, and the one that it stands in itself. */
  async index({ store, agentId, options, known }) {
    const own = agentId === null ? undefined : readableState(store, agentId)
    const parents = own === undefined ? [agentId] : [agentId, own.parent]
    for (const parent of parents) {
      if (known.mended.has(parent)) continue
      await mendIndex(store, parent, known.childrenOf(parent), known.isEveryAgentRead, options.command)
      known.mended.add(parent)
    }
    const what =
      agentId === null ? 'the index of the roots was made again' : 'the indexes of names were made again'
    return known.isEveryAgentRead ? what : `${what}, as far as agents can be read`
  },
  async marker({ store, agentId }) {
    store.mark(agentId as string)
    return 'it is marked: recover --all looks at it'
  },
  async mode({ store, agentId, known }) {
    const loose = known.looseOf(agentId)
    const ours = loose.filter(({ facts }) => facts.kind === 'file' || facts.kind === 'directory')
    for (const entry of ours) store.upkeep.tighten(entry)
    return ours.length === 0 ? undefined : `${ours.length} files and directories are their owner's alone now`
  },
}

async function visit(
  store: FileStore,
  agentId: string,
  command: string,
  act: (session: Session) => void = () => undefined,
): Promise<void> {
  const session = await openForAppend(store, agentId, { command, waitMs: 0 })
  try {
    act(session)
    store.sweepAgent(agentId)
  } finally {
    // Recovery takes the marker away where nothing is owed.
    await session.close(() => true)
  }
}

async function underLock<T>(
  store: FileStore,
  agentId: string,
  { command }: RebuildOptions,
  act: () => T,
): Promise<T> {
  const lease = await store.lockAgent(agentId, command, 0)
  if (lease === undefined) throw busyError(store, agentId)
  try {
    return act()
  } finally {
    await lease.release()
  }
}

function setAside(store: FileStore, agentId: string | null): string[] {
  const state = agentId === null ? undefined : openForRead(store, agentId)?.state
  const damaged = state === undefined ? damagedOperatorMail(store) : damagedMail(store, state)
  return damaged.map((path) => store.mail.setAside(path))
}

/** Who is whose child, and what is open to others: read once, and only where something of it has to be mended. */
class Known {
  private children: Map<string | null, string[]> | undefined
  private loose: Map<string | null, Entry[]> | undefined
  isEveryAgentRead = true
  /** Parents whose indexes are done. */
  readonly mended = new Set<string | null>()

  constructor(private readonly store: FileStore) {}

  childrenOf(parentId: string | null): string[] {
    this.children ??= this.read()
    return this.children.get(parentId) ?? []
  }

  looseOf(agentId: string | null): Entry[] {
    this.loose ??= looseEntries(FileStore.survey(this.store.root))
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
