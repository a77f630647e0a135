/** Names: what may be one, and to whom it leads. */
import type { Mutant } from '../mutant.js'

const noName = (what: string, from: string, to = '') => ({
  name: `a name may be ${what}`,
  file: 'tree/names.ts',
  from,
  to,
  suites: ['tree/names'],
})

export const NAMES: Mutant[] = [
  noName('empty', `  if (name.trim() === '') return 'it is empty'\n`),
  noName('wrapped in spaces', `  if (name !== name.trim()) return 'it begins or ends with a space'\n`),
  noName('of any length', '[...name].length > limits.nameCharactersMax', '[...name].length < 0'),
  noName('a path', `  if (name.includes('/')) return 'it has a slash'\n`),
  noName(
    'made of control characters',
    `  if (!PLAIN.test(name) && /\\p{C}|[\\u2028\\u2029]/u.test(name)) return 'it has a control character'\n`,
  ),
  noName('an option', `  if (name.startsWith('-')) return 'it begins with a dash'\n`),
  noName('a uuid', `  if (isUuid(name.toLowerCase())) return 'it is a uuid'\n`),
  noName(
    'that of the operator',
    `  if (foldName(name) === 'operator') return 'it is the word for the person at the machine'\n`,
  ),
  {
    name: 'a child may be called parent',
    file: 'tree/birth.ts',
    from: `  if (parent !== null && name !== null && foldName(name) === 'parent') throw meansParent(name)\n`,
    to: '',
    suites: ['tree/birth-below'],
  },
  {
    name: 'a name is kept as it was composed',
    file: 'tree/names.ts',
    from: `  const normal = name.normalize('NFC')\n`,
    to: '  const normal = name\n',
    suites: ['tree/names'],
  },
  {
    name: 'names that differ in case are two',
    file: 'format.ts',
    from: `return name.normalize('NFC').toLowerCase().normalize('NFC')`,
    to: `return name.normalize('NFC')`,
    suites: ['tree/names'],
  },
  {
    name: 'names that differ in composition are two',
    file: 'format.ts',
    from: `return name.normalize('NFC').toLowerCase().normalize('NFC')`,
    to: 'return name.toLowerCase()',
    suites: ['tree/names'],
  },
  {
    name: 'two living siblings have one name',
    file: 'tree/birth.ts',
    from: '    if (owner !== undefined && name !== null) throw nameTaken(name, owner, above)\n',
    to: '    void [owner, nameTaken]\n',
    suites: ['tree/names'],
  },
  {
    name: 'a name stays taken by the dead',
    file: 'tree/names.ts',
    from: `return state !== undefined && state !== 'terminated'`,
    to: 'return state !== undefined',
    suites: ['tree/birth-below', 'tree/names'],
  },
  {
    name: 'a name leads to an agent that never came to be',
    file: 'tree/names.ts',
    from: `  if (id !== undefined && store.hasAgent(id)) return id
  // The entry`,
    to: `  if (id !== undefined) return id
  // The entry`,
    suites: ['tree/names'],
  },
  {
    name: 'a beginning that several ids have means the first',
    file: 'tree/names.ts',
    from: '  if (found.length < 2) return found[0]\n',
    to: '  if (found !== null) return found[0]\n',
    suites: ['tree/names'],
  },
  {
    name: 'a bare name that several have means the first',
    file: 'tree/names.ts',
    from: '  if (named.length === 1) return named[0] as string\n',
    to: '  if (named.length > 0) return named[0] as string\n',
    suites: ['tree/names'],
  },
  {
    name: 'one damaged log keeps every agent from being found',
    file: 'tree/names.ts',
    from: '    if (error instanceof SubstratError) return undefined\n    throw error',
    to: '    throw error',
    suites: ['tree/names', 'tree/children'],
  },
  {
    name: 'the name of one that is gone takes that of its follower with it',
    file: 'tree/children.ts',
    from: 'if (index.lookUp(name ?? id) === id) index.forget(name ?? id)',
    to: 'index.forget(name ?? id)',
    suites: ['tree/children'],
  },
  {
    name: 'an id in a path may be anything',
    file: 'storage/paths.ts',
    from: '  if (!isUuid(id)) assert(false, `an id in a path is a uuid, not ${JSON.stringify(id)}`)\n',
    to: '',
    suites: ['storage/paths', 'storage/mailboxes'],
  },
  {
    name: 'a blob may be named anything',
    file: 'storage/paths.ts',
    from: `    assert(SHA256.test(sha256), 'a blob is named by its sha256')\n`,
    to: '',
    suites: ['storage/paths', 'storage/log/blobs'],
  },
]
