/**
 * The functions of the reading commands, for the servers in plugins/ (dist/reading.cjs). A server loads them from the substrat
 * that runs it, so that both read a home by the same rules.
 */

import { showAgent as show } from '../operations/list-and-show.js'
import type { ShownAgent } from '../schema/output.js'
import { allowGrants } from '../settings/allow-grants.js'
import type { Store } from '../storage/store.js'

export { errorLine } from '../console/output.js'
export { fileChange } from '../console/print/file-change.js'
export { stderr } from '../console/stdio.js'
export { askText } from '../dispatch/ask-text.js'
export { idOfKey, runOfKey, runOfMessage } from '../dispatch/keyed-message.js'
export { decisionCommands } from '../dispatch/turn-obstacle.js'
export { type ErrorCode, EXIT_STATUS, SubstratError, shellWord } from '../errors.js'
export {
  readServeTokens,
  ServeTokensReader,
  serveFile,
} from '../files/serve-tokens.js'
export { FORMAT, OPERATOR } from '../format.js'
export { viewInbox } from '../operations/inbox.js'
export {
  agentReader,
  LISTED_STATUSES,
  listAgents,
  listedStatus,
  tickerNote,
} from '../operations/list-and-show.js'
export { pendingAsk, pendingCalls } from '../operations/pending-calls.js'
export {
  logSize,
  ownRecordsFrom,
  type PageBounds,
  type Position,
  positionAfter,
  readPage,
} from '../operations/read-log.js'
export { hasToken } from '../operations/resume-token.js'
export { whyStuck } from '../operations/stuck.js'
export { viewTree } from '../operations/tree.js'
export { viewUsage } from '../operations/usage.js'
export { withOfficial } from '../provider/official.js'
export { actorText } from '../schema/actors.js'
export type { NamedToken } from '../schema/files.js'
export type { ListedAgent } from '../schema/output-overview.js'
export {
  INTERRUPTIONS,
  isAllowed,
  SCOPES,
  type Scope,
  SESSION_STATES,
  SHOWN_STATUSES,
  WAITS,
} from '../schema/words.js'
export { type Entry, type EntryOf, entryOf } from '../session/entries.js'
export { readableState } from '../session/peek-state.js'
export { readText } from '../session/read.js'
export type { SessionRecord } from '../session/records.js'
export { UsageCounter } from '../session/usage-log.js'
export { allowGrants } from '../settings/allow-grants.js'
export { parseDuration } from '../settings/durations.js'
export { type HomeAccess, homeAddress, homeUrl, openUrlsBy } from '../settings/home-address.js'
export { openHome } from '../storage/open.js'
export type { Store } from '../storage/store.js'
export { resolveAgent } from '../tree/names.js'
export { type FaceActor, signedActor } from './actor.js'
export { callingAgent } from './caller.js'

/** As `show` prints it. */
export function showAgent(store: Store, agentId: string): ShownAgent {
  return show(store, agentId, allowGrants(store))
}
