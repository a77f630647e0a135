/**
 * The promises about a home at the end, after any kills. Each check yields the violated promises as
 * sentences.
 */
import { isInterrupted } from '../../src/session/status.js'
import { FileStore } from '../../src/storage/file-store.js'
import type { Store } from '../../src/storage/store.js'
import { processesWith } from '../../test/support/processes.js'
import { audit } from '../support/home-view.js'
import type { Broken, Home } from './home.js'
import { answeredOnce, deliveredOnce, firstInFirstOut } from './mail-promises.js'
import type { Seen } from './seen.js'
import { treeIsAsAcknowledged } from './tree-promises.js'

export interface Verdict {
  violations: string[]
  counts: Record<string, number>
}

export function judge(home: Home): Verdict {
  const counts: Record<string, number> = {
    'messages acknowledged': home.sent.filter(({ fate }) => fate === 'acknowledged').length,
    'refused, nothing stored': home.sent.filter(({ fate }) => fate === 'refused').length,
    'sender killed': home.sent.filter(({ fate }) => fate === 'unknown').length,
    delivered: home.seen.messages.length,
  }
  const count = (what: string): void => {
    counts[what] = (counts[what] ?? 0) + 1
  }
  const violations = [
    ...exitsAreOfTheContract(home),
    ...audit(home.home, true),
    ...nothingIsOwed(home),
    ...deliveredOnce(home, count),
    ...answeredOnce(home, count),
    ...firstInFirstOut(home),
    ...treeIsAsAcknowledged(home),
  ]
  return { violations, counts }
}

/** A kill of another process must not make a command fail unexpectedly, or find damage. */
const UNEXPECTED = [1, 2, 8, 10, 11, 15]

function* exitsAreOfTheContract({ ledger }: Home): Broken {
  for (const { operation, told } of ledger) {
    if (told.code !== null && UNEXPECTED.includes(told.code))
      yield `no command fails because others are killed: ${operation.argv.join(' ')} exited ${told.code}: ${told.stderr.trim()}`
    if (operation.post?.isForbidden === true && told.code !== null && ![3, 13].includes(told.code))
      yield `the rules of the tree hold: ${operation.argv.join(' ')} exited ${told.code}`
  }
}

function* nothingIsOwed({ home, seen }: Home): Broken {
  for (const pid of processesWith(`SUBSTRAT_HOME=${home}`))
    yield `no process of a killed turn is left: ${pid}`
  for (const { state, pending } of seen.owed())
    yield `nothing is owed at the end: ${state.path} has ${pending.length} messages, owes ${state.owes.length}, run ${state.run?.status}`
  // A killed sender's temp file keeps the agent marked until it is swept, after ten minutes.
  for (const id of seen.store.visits.markedIds())
    if (!holdsMail(seen.store, id)) yield `no marker is left where nothing is owed: ${id}`
}

/** In files also the half of a message that a killed sender left. */
function holdsMail(store: Store, id: string): boolean {
  return store instanceof FileStore ? store.mail.holdsAny(id) : store.mail.ids(id).length > 0
}

/** Turns that failed too often by themselves. Only the operator continues them. */
export function leftToPerson(seen: Seen): string[] {
  return seen.agents
    .filter(({ state }) => isInterrupted(state) && state.recovery.barren_attempts >= 2)
    .map(({ state }) => state.id)
}
