/**
 * The parts of this program that the store of a plugin uses. A plugin gets it when it opens a home, and imports only its types: an error must
 * be of this program's class, and a log must be read by this program's rules.
 */
export { clock, sleep } from '../clock.js'
export { assert, damagedConversation, SubstratError } from '../errors.js'
export { FORMAT, foldName, OPERATOR } from '../format.js'
export { replace } from '../host/disk/replace.js'
export { bootId, hostName, ownIdentity, processGroup, processStartTime } from '../host/identity.js'
export { randomUuid } from '../start/random.js'
export { startThread } from '../start/threads.js'
export { agentGone, createdElsewhere } from './agent-gone.js'
export { AgentFiles } from './local-files.js'
export { contains, oneByOne, recordsFound } from './log/found.js'
export { beginsWith, damageOf, frame, LF, SUFFIX_BYTES, unframeFile } from './log/frame.js'
export { eachEntry, findEntry, forgetOld, mergeEntries } from './log/key-entries.js'
export { recordHead } from './log/lines.js'
export { finderOf } from './log/needle.js'
export { LogReader } from './log/reader.js'
export { HomePaths } from './paths.js'
export { migratingError } from './transfer.js'
