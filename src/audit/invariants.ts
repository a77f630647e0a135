/**
 * What holds in every home, as a table: each row is an invariant in words, and says what it means where it does not hold.
 *
 * `verdict`: what a person has to know. `left`: when a kill or a power cut may leave it so: `never`; `until recovery` has
 * run; or `ever after` (it is in nobody's way). `remedy`: the next command to run; where `rebuild` names an action,
 * `doctor --rebuild` is that command, unless there is a remedy that says more. `code`: what the exit status of `doctor` follows from; null where it is 0.
 */
import type { ErrorCode } from '../errors.js'

/** From bad to good. */
export const VERDICTS = ['damaged', 'needs_you', 'repairs_itself', 'harmless'] as const
export type Verdict = (typeof VERDICTS)[number]

/** What `doctor --rebuild` does about it. */
export type Rebuild = 'log' | 'snapshot' | 'keys' | 'visit' | 'index' | 'marker' | 'mail' | 'mode' | 'sweep'

export interface Row {
  verdict: Verdict
  left: 'never' | 'until recovery' | 'ever after'
  code: ErrorCode | null
  rebuild?: Rebuild
  /** `{agent}` is its name for a command, `{id}` its uuid, `{path}` the file, `{rebuild}` the command that does `rebuild`. */
  remedy?: string
  /** Where the agent is terminated. */
  ended?: string
}

const RECOVER = 'substrat recover --all'
const LOOK = 'ls -la {path}'
/** What is behind the damage is lost to the agent then, so a backup is better. */
const OR_REBUILD = 'restore {path} from a backup; or go on with what is whole of it: {rebuild}'
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
  'a log has a known format': needsYou('UNKNOWN_FORMAT', {
    remedy: 'use the version of substrat that wrote it, or a newer one',
  }),
  'a message is delivered or applied at most once': damagedRow({ remedy: 'substrat log {agent}' }),
  'a blob named by a record exists and is intact': damagedRow({ remedy: BACKUP }),
  'the snapshot matches the log': damagedRow({ rebuild: 'snapshot' }),
  'a valid token belongs to the open wait': damagedRow({ remedy: 'substrat show {agent}' }),
  // A power cut, where the file system wrote the name before the bytes; nothing but time is lost.
  'a snapshot is intact': everAfter('repairs_itself', { rebuild: 'snapshot' }),
  // A power cut: the index is not synced. The next message with a key makes it again.
  'a key index is intact': everAfter('repairs_itself', { rebuild: 'keys' }),
  'the key index has all keys of the log': damagedRow({ rebuild: 'keys' }),
  // A kill between the blob and the record that would have named it.
  'a blob is named by a record': everAfter('harmless', {}),
  'a truncated tail is removed by the next writer': { ...untilRecovery(), rebuild: 'visit' },
  'an active session has a holder': untilRecovery(),
  'a waiting run can still continue': untilRecovery(),
  // Mail.
  'a file in an inbox is a message': damagedRow({ rebuild: 'mail' }),
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
  // Somebody deleted it, or a power cut took the empty file: it is built again, and nothing trusts it until then.
  'an index of names is complete': everAfter('repairs_itself', { rebuild: 'index' }),
  'an index entry is intact': { ...everAfter('harmless', { rebuild: 'index' }), left: 'never' },
  // A kill in a spawn after the name was reserved, or in a removal before it was forgotten.
  'an index entry names an agent': everAfter('harmless', { rebuild: 'index' }),
  // What is beside the log.
  'a stop request names the open run': everAfter('repairs_itself', { rebuild: 'visit' }),
  'a recorded wait between agents has its process': everAfter('repairs_itself', { rebuild: 'sweep' }),
  'a recorded server has its agent': everAfter('repairs_itself', { remedy: RECOVER }),
  'a temporary file has a living writer': everAfter('repairs_itself', { rebuild: 'sweep' }),
  'no set-aside file is left to inspect': everAfter('harmless', { remedy: 'rm {path}' }),
  'every file in a home belongs to the format': everAfter('harmless', { remedy: LOOK }),
  'a lock does not outlive its holder': {
    ...needsYou('LOCKED', { remedy: 'substrat unlock {agent}' }),
    left: 'ever after',
  },
  // The home came from a file system where it was.
  'a lock directory is needed': everAfter('harmless', { remedy: 'substrat unlock {agent}' }),
  // Who may read and write it.
  'only the owner can access a home': needsYou('HOME_EXPOSED', { rebuild: 'mode' }),
  'all files of a home have one owner': needsYou('HOME_EXPOSED', { remedy: LOOK }),
  'a home contains no symlinks': needsYou('HOME_EXPOSED', { remedy: LOOK }),
  'a name of the format has the right file type': damagedRow({ remedy: LOOK }),
  'all files of a home can be read': needsYou('STORAGE_FAILED', { remedy: LOOK }),
  // It holds no more than an id and the kind of the locks.
  'home.json is intact': damagedRow({
    remedy: `${BACKUP}; or, while no substrat runs: mv {path} {path}.damaged && ${RECOVER}`,
  }),
  'a home has its home.json': everAfter('repairs_itself', { remedy: RECOVER }),
  // What it needs of the outside.
  'the settings are valid': needsYou('CONFIG_INVALID', { remedy: 'substrat config list' }),
  'the list of plugins can be read': needsYou('PROVIDER_MISCONFIGURED', {
    remedy: 'mv {path} {path}.damaged, and install them again: substrat plugins install …',
  }),
  'an installed plugin can be loaded': needsYou('PROVIDER_MISCONFIGURED', { remedy: 'substrat plugins' }),
  'the provider of an agent is installed': needsYou('PROVIDER_NOT_FOUND', { remedy: 'substrat providers' }),
} satisfies Record<string, Row>

export type Invariant = keyof typeof ROWS

export const INVARIANTS: Record<Invariant, Row> = ROWS
