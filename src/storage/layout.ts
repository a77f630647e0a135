/**
 * The names that may exist in a home: the table of docs/format.md in code. The audit checks each name in a home against
 * it.
 */
export type Expected = ExpectedFile | ExpectedDirectory

/**
 * - `ours`: a name of the format.
 * - `lock`: a lock directory, used on file systems whose kernel locks may not work between machines.
 * - `leftover`: made by a writer that died or has not finished.
 * - `kept`: set aside for a person.
 * - `users`: added by the owner of the home.
 * - `settings`: a name of the format that the owner may edit.
 */
export type Standing = 'ours' | 'settings' | 'lock' | 'leftover' | 'kept' | 'users'

interface ExpectedFile {
  kind: 'file' | 'socket'
  standing: Standing
}

interface ExpectedDirectory {
  kind: 'directory'
  standing: Standing
  /** Names that it may contain. Undefined: its content is not checked. */
  names: [pattern: RegExp, expected: Expected][] | undefined
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

const FILE: ExpectedFile = { kind: 'file', standing: 'ours' }
const SOCKET: ExpectedFile = { kind: 'socket', standing: 'ours' }
const LEFT_FILE: ExpectedFile = { kind: 'file', standing: 'leftover' }
const KEPT_FILE: ExpectedFile = { kind: 'file', standing: 'kept' }
const LEFT_DIRECTORY: Expected = { kind: 'directory', standing: 'leftover', names: undefined }
const LOCK_DIRECTORY: Expected = { kind: 'directory', standing: 'lock', names: [] }

const TEMPORARY: [RegExp, Expected] = [/\.\d+-[0-9a-z]+\.tmp$/, LEFT_FILE]
const LOCK: [RegExp, Expected][] = [
  [/^lock$/, FILE],
  [/^lock\.d$/, LOCK_DIRECTORY],
]

function directory(...names: [RegExp, Expected][]): ExpectedDirectory {
  return { kind: 'directory', standing: 'ours', names }
}

function wholeMatch(pattern: string): RegExp {
  return new RegExp(`^${pattern}$`)
}

const INDEX = directory(...LOCK, TEMPORARY, [/^complete$/, FILE], [/^[0-9a-f]{64}$/, FILE])
const MAILDIR = directory(
  TEMPORARY,
  [wholeMatch(`${UUID}\\.(json|returned)`), FILE],
  [wholeMatch(`${UUID}\\.json\\.damaged-.*`), KEPT_FILE],
)

const AGENT = directory(
  ...LOCK,
  TEMPORARY,
  [/^(events\.jsonl|session\.json|keys|sender|server\.json|server\.out)$/, FILE],
  [/^sender\.d$/, LOCK_DIRECTORY],
  [/^(events\.jsonl|session\.json)\.damaged-/, KEPT_FILE],
  [wholeMatch(`${UUID}\\.sock`), SOCKET],
  [/^inbox$/, MAILDIR],
  [/^blobs$/, directory(TEMPORARY, [/^[0-9a-f]{64}$/, FILE])],
  [/^children$/, INDEX],
  [/^requests$/, directory([wholeMatch(`${UUID}\\.(suspend|terminate|cancel)`), FILE])],
  [
    /^waits$/,
    directory([wholeMatch(`${UUID}\\.${UUID}`), FILE], [wholeMatch(`${UUID}\\.${UUID}\\.d`), LOCK_DIRECTORY]),
  ],
  [/^cut$/, directory(TEMPORARY, [/^\d+-[0-9a-f]{16}$/, KEPT_FILE])],
)

const USERS: [RegExp, Expected] = [/^/, { kind: 'file', standing: 'users' }]

export const HOME_LAYOUT = directory(
  TEMPORARY,
  [/^home\.json$/, FILE],
  [/^actor\.key$/, FILE],
  [/^tick$/, FILE],
  [/^config\.json$/, { kind: 'file', standing: 'settings' }],
  [
    /^agents$/,
    directory([wholeMatch(UUID), AGENT], [wholeMatch(`\\.(spawn|removed)-${UUID}`), LEFT_DIRECTORY]),
  ],
  [/^roots$/, INDEX],
  [/^operator$/, directory([/^(inbox|taken)$/, MAILDIR])],
  [/^unclean$/, directory([wholeMatch(`${UUID}(\\.closing)?`), FILE])],
  [/^(boots|gone)$/, directory(TEMPORARY, [/^[0-9a-zA-Z-]{1,64}$/, FILE])],
  [/^moves$/, directory([wholeMatch(`${UUID}\\.${UUID}`), FILE])],
  [/^removed$/, directory(TEMPORARY, [wholeMatch(UUID), FILE])],
  [
    /^budgets$/,
    directory(
      [wholeMatch(`(home|${UUID})(\\.lock)?`), FILE],
      [wholeMatch(`(home|${UUID})\\.lock\\.d`), LOCK_DIRECTORY],
    ),
  ],
  [
    /^slots$/,
    directory([/^[a-z][a-z0-9-]{0,63}$/, directory([/^\d+$/, FILE], [/^\d+\.d$/, LOCK_DIRECTORY])]),
  ],
  [/^servers$/, directory(...LOCK, [wholeMatch(UUID), FILE])],
  // AGENTS.md, identity.md, memory.md, skills/ and any other file of the owner.
  USERS,
)

export function expectedIn({ names }: ExpectedDirectory, name: string): Expected | undefined {
  return names?.find(([pattern]) => pattern.test(name))?.[1]
}

/** Whether the owner decides who may read the file. Other users must not be able to change it in any case. */
export function isTheirs(standing: Standing | undefined): boolean {
  return standing === 'users' || standing === 'settings'
}
