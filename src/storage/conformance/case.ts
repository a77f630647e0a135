/** The types of the conformance suite of stores, and helpers for its cases. */
import { randomUuid } from '../../start/random.js'
import { BatchLines, type Lease, type Store } from '../store.js'

export interface StoreCase {
  title: string
  run(): Promise<void>
}

/** A new home for one case. */
export interface HomeFixture {
  /** The home as another process opens it. */
  open(): Store
  /** Makes the lease invalid while its holder goes on. By default it is released. */
  lose?(lease: Lease): Promise<void>
}

export type NewHome = () => HomeFixture

export const OPTIONS = { command: 'conformance', waitMs: 0 }

export function storeCase(
  newHome: NewHome,
  title: string,
  run: (home: HomeFixture) => Promise<void>,
): StoreCase {
  return { title, run: () => run(newHome()) }
}

class PromiseBroken extends Error {}

export function demand(condition: boolean, sentence: string): void {
  if (!condition) throw new PromiseBroken(sentence)
}

/** The code of the error that `act` throws. Undefined if it throws none. */
export async function codeOf(act: () => unknown): Promise<unknown> {
  try {
    await act()
    return undefined
  } catch (error) {
    return (error as { code?: unknown }).code ?? String(error)
  }
}

/** The lines of a batch. The first record of a log names its agent. */
export function linesOf(agentId: string, first: number, texts: string[], offset: number): Buffer {
  const lines = new BatchLines(offset)
  const batch = [first, first + texts.length - 1]
  texts.forEach((text, index) => {
    const kind = first + index === 1 ? 'session.created' : 'message.user'
    lines.add({ seq: first + index, ts: new Date(0).toISOString(), kind, batch, agent_id: agentId, text })
  })
  return lines.bytes
}

/** A new agent, held. */
export function created(store: Store, agentId: string = randomUuid()): Promise<Lease> {
  const log = linesOf(agentId, 1, ['born'], 0)
  return store.create({ agentId, log, snapshot: { of: 'birth' }, blobs: [], command: OPTIONS.command })
}

/** A new agent that no process holds. Returns its id. */
export async function restingAgent(store: Store): Promise<string> {
  const lease = await created(store)
  await lease.rest({ snapshot: undefined, needsVisit: false })
  return lease.agentId
}

export async function taken(store: Store, agentId: string): Promise<Lease> {
  const lease = await store.take(agentId, OPTIONS)
  if (lease === undefined) throw new PromiseBroken('an agent that no process holds can be taken')
  return lease
}

/** Appends one record. `id`: of the batch. */
export function append(lease: Lease, text: string, id: string = randomUuid()): void {
  const offset = lease.log.size()
  const bytes = linesOf(lease.agentId, textsIn(lease).length + 1, [text], offset)
  lease.append({ id, offset, bytes, blobs: [], isUpgrade: false })
}

/** The texts of all records. */
function textsIn({ log }: Pick<Lease, 'log'>): string[] {
  const texts: string[] = []
  for (const batch of log.batches({ offset: 0, seq: 1 }))
    for (const { record } of batch) texts.push(record.text as string)
  return texts
}

/** The texts of all records, as a process without the lease reads them. */
export function textsOf(store: Store, agentId: string): string[] | undefined {
  const opened = store.open(agentId)
  if (opened === undefined) return undefined
  try {
    return textsIn(opened)
  } finally {
    opened.log.close()
  }
}

export function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** A slot may be released with the next request of its process, but in this turn of the event loop. */
export function afterThis(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
