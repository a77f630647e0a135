/**
 * The invariants of a home, as a table. Each row has an invariant in words, and the meaning of its violation:
 *
 * - `verdict`: the severity for the user.
 * - `left`: how long a kill or a power cut may leave the violation: `never`, `until recovery` has run, or `ever after`
 *   (harmless to every command).
 * - `remedy`: the next command to run. The default is `doctor --rebuild` if `rebuild` names an action.
 * - `code`: decides the exit status of `doctor`; null means 0.
 */
import type { ErrorCode } from '../errors.js'
import type { VERDICTS } from '../schema/words.js'

export type Verdict = (typeof VERDICTS)[number]

/** The repair that `doctor --rebuild` makes. */
export type Rebuild = 'log' | 'snapshot' | 'keys' | 'visit' | 'index' | 'marker' | 'mail' | 'mode' | 'sweep'

export interface Row {
  verdict: Verdict
  left: 'never' | 'until recovery' | 'ever after'
  code: ErrorCode | null
  rebuild?: Rebuild
  /** `{agent}` is the agent's name for a command, `{id}` its uuid, `{path}` the file, `{rebuild}` the command of the repair. */
  remedy?: string
  /** The remedy if the agent is terminated. */
  ended?: string
}

const RECOVER = 'substrat recover --all'
const LOOK = 'ls -la {path}'
/** A rebuild loses every record after the damage, so a backup is better. */
const OR_REBUILD = 'restore {path} from a backup; or continue from its undamaged part: {rebuild}'
const NEWER = 'use the version of substrat that wrote it, or a newer one'
const BACKUP = 'restore {path} from a backup'

const damagedRow = (rest: Pick<Row, 'rebuild' | 'remedy' | 'ended'>): Row => ({
  verdict: 'damaged',
  left: 'never',
  code: 'CORRUPT',
  ...rest,
})
const needsYou = (code: ErrorCode, rest: Pick<Row, 'rebuild' | 'remedy'>): Row => ({
  verdict: 'needs_you',
  left: 'never',
  code,
  ...rest,
})
const untilRecovery = (remedy = 'substrat recover {agent}'): Row => ({
  verdict: 'repairs_itself',
  left: 'until recovery',
  code: null,
  remedy,
})
const everAfter = (verdict: Verdict, rest: Pick<Row, 'rebuild' | 'remedy'>): Row => ({
  verdict,
  left: 'ever after',
  code: null,
  ...rest,
})

const ROWS = {
  // The log.
  'a log is intact up to its last batch': damagedRow({ rebuild: 'log', remedy: OR_REBUILD }),
  'an agent has its log': damagedRow({ rebuild: 'log', remedy: OR_REBUILD }),
  'a log has a known format': needsYou('UNKNOWN_FORMAT', { remedy: NEWER }),
  'a message is delivered or applied at most once': damagedRow({ remedy: 'substrat log {agent}' }),
  'a blob named by a record exists and is intact': damagedRow({ remedy: BACKUP }),
  'the snapshot matches the log': damagedRow({ rebuild: 'snapshot' }),
  'a valid token belongs to the open wait': damagedRow({ remedy: 'substrat show {agent}' }),
  // A power cut leaves this if the file system wrote the name before the bytes. Commands fold the log instead.
  'a snapshot is intact': everAfter('repairs_itself', { rebuild: 'snapshot' }),
  // A power cut leaves this, because the index is not synced. The next message with a key rebuilds it.
  'a key index is intact': everAfter('repairs_itself', { rebuild: 'keys' }),
  'the key index has all keys of the log': damagedRow({ rebuild: 'keys' }),
  // A kill between writing the blob and writing its record leaves this.
  'a blob is named by a record': everAfter('harmless', {}),
  'a truncated tail is removed by the next writer': { ...untilRecovery(), rebuild: 'visit' },
  'an active session has a holder': untilRecovery(),
  'a waiting run can still continue': untilRecovery(),
  // Mail.
  'a file in an inbox is a message': damagedRow({ rebuild: 'mail' }),
  'a message has a known kind': needsYou('UNKNOWN_FORMAT', { remedy: NEWER }),
  'delivered mail has left the inbox': untilRecovery(),
  'replies and failure notices of ended turns are sent': untilRecovery(),
  'control messages to an agent are applied': untilRecovery(),
  'mail to a terminated agent is returned': untilRecovery(),
  'an agent with pending work is marked': {
    ...needsYou('INTERRUPTED', { rebuild: 'marker' }),
    left: 'until recovery',
  },
  'a marker belongs to an agent': untilRecovery(RECOVER),
  // The tree.
  "an agent's parent exists and outlives it": damagedRow({
    remedy: 'substrat terminate {id} --recursive',
    ended: 'substrat remove {id} --recursive',
  }),
  "an agent's path is its parent's path and its name": damagedRow({ remedy: 'substrat log {agent}' }),
  'the name of a living agent resolves to it': damagedRow({ rebuild: 'index' }),
  // The user deleted the index, or a power cut lost the empty file. Commands do not trust it until it is rebuilt.
  'an index of names is complete': everAfter('repairs_itself', { rebuild: 'index' }),
  'an index entry is intact': { ...everAfter('harmless', { rebuild: 'index' }), left: 'never' },
  // A kill leaves this: in a spawn after it reserved the name, or in a removal before it deleted the entry.
  'an index entry names an agent': everAfter('harmless', { rebuild: 'index' }),
  // Files beside the log.
  'a stop request names the open run': {
    ...everAfter('repairs_itself', { rebuild: 'visit' }),
    left: 'until recovery',
  },
  'a recorded wait has its process': everAfter('repairs_itself', { rebuild: 'sweep' }),
  'a recorded server has its agent': everAfter('repairs_itself', { remedy: RECOVER }),
  'a temporary file has a living writer': everAfter('repairs_itself', { rebuild: 'sweep' }),
  'no set-aside file is left to inspect': everAfter('harmless', { remedy: 'rm {path}' }),
  'every file in a home belongs to the format': everAfter('harmless', { remedy: LOOK }),
  'a lock does not outlive its holder': {
    ...needsYou('LOCKED', { remedy: 'substrat unlock {agent}' }),
    left: 'ever after',
  },
  // The home was copied from a file system that needed it.
  'a lock directory is needed': everAfter('harmless', { remedy: 'substrat unlock {agent}' }),
  // Access.
  'only the owner can access a home': needsYou('HOME_EXPOSED', { rebuild: 'mode' }),
  'all files of a home have one owner': needsYou('HOME_EXPOSED', { remedy: LOOK }),
  'a home contains no symlinks': needsYou('HOME_EXPOSED', { remedy: LOOK }),
  'a name of the format has the right file type': damagedRow({ remedy: LOOK }),
  'all files of a home can be read': needsYou('STORAGE_FAILED', { remedy: LOOK }),
  // Only in a database.
  'the rows of a home in a database agree': damagedRow({ remedy: 'restore the database from a backup' }),
  // A fail-over or a restored dump. The leases of all programs that the server has forgotten end while no agent is taken.
  'the server of a home has kept every change': everAfter('repairs_itself', {
    remedy: 'see what it still has: substrat list --all; repeat a missing message with its --key',
  }),
  // home.json holds only an id and the kind of locks, so a new one can replace it.
  'home.json is intact': damagedRow({
    remedy: `${BACKUP}; or, while no substrat runs, move the damaged file away and run: ${RECOVER}`,
  }),
  'a home has its home.json': damagedRow({ remedy: `${BACKUP}, or recreate it: ${RECOVER}` }),
  // Outside the home: a timer, or the clock. Only a person can set them.
  'a command begins the due turns of schedules': needsYou('TIMED_OUT', {
    remedy: 'substrat deliver --all; or set a timer: (crontab -l; substrat units cron) | crontab -',
  }),
  // Settings and plugins.
  'the settings are valid': needsYou('CONFIG_INVALID', { remedy: 'substrat config set KEY VALUE' }),
  'the list of plugins can be read': needsYou('PROVIDER_MISCONFIGURED', {
    remedy: 'mv {path} {path}.damaged, then install the plugins again: substrat plugins add …',
  }),
  'an installed plugin can be loaded': needsYou('PROVIDER_MISCONFIGURED', { remedy: 'substrat plugins' }),
  'the provider of an agent is installed': needsYou('PROVIDER_NOT_FOUND', { remedy: 'substrat providers' }),
} satisfies Record<string, Row>

export type Invariant = keyof typeof ROWS

export const INVARIANTS: Record<Invariant, Row> = ROWS
