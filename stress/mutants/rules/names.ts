/** Names: which ones are valid, and what they resolve to. */
import type { Mutant } from '../mutant.js'

const noName = (what: string, condition: string): Mutant => ({
  name: `spawn accepts a name that ${what}`,
  edits: [[`if (${condition}) return`, 'if (false) return']],
  suites: ['tree/names'],
})

export const NAMES: Mutant[] = [
  noName('is empty', "name.trim() === ''"),
  noName('begins or ends with a space', 'name !== name.trim()'),
  noName('is too long', '[...name].length > limits.nameCharactersMax'),
  noName('has a slash', "name.includes('/')"),
  noName('has a control character', '/\\p{C}|[\\u2028\\u2029]/u.test(name)'),
  noName('begins with a dash', "name.startsWith('-')"),
  noName('is a UUID', 'isUuid(name.toLowerCase())'),
  noName('is reserved for the user', "foldName(name) === 'operator'"),
  {
    name: 'a child may be named parent',
    edits: [
      ["if (parent !== null && name !== null && foldName(name) === 'parent') throw meansParent(name)", ';'],
    ],
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'a name is stored without Unicode normalization',
    edits: [["normal = name.normalize('NFC')", 'normal = name']],
    suites: ['tree/names'],
  },
  {
    name: 'names that differ only in case are different names',
    edits: [["name.normalize('NFC').toLowerCase()", 'name']],
    suites: ['tree/names'],
  },
  {
    name: 'names that differ only in Unicode form are different names',
    edits: [["name.normalize('NFC').toLowerCase().normalize('NFC')", '(name).toLowerCase()']],
    suites: ['tree/names'],
  },
  {
    name: 'two living siblings share a name',
    edits: [
      [
        'if (owner !== undefined && name !== null) throw nameTaken(name, owner, above)',
        'void [owner, nameTaken]',
      ],
    ],
    suites: ['tree/names'],
  },
  {
    name: 'the name of a terminated agent stays taken',
    edits: [["state !== undefined && state !== 'terminated'", 'state !== undefined']],
    suites: ['tree/create-agent-below', 'tree/names'],
  },
  {
    name: 'a name resolves to an agent that was never created',
    edits: [["this.hasAgent(id) ? id : 'unknown'", 'id']],
    suites: ['tree/names'],
  },
  {
    name: 'an ambiguous id prefix resolves to the first agent',
    edits: [['found.length < 2', 'found !== null']],
    suites: ['tree/names'],
  },
  {
    name: 'an ambiguous name resolves to the first agent',
    edits: [['ids.length === 1', 'ids.length > 0']],
    suites: ['tree/names'],
  },
  {
    name: 'one damaged log prevents the search for any agent',
    edits: [
      [
        `return peekState(store, agentId)
         } catch {
           return undefined
         }`,
        `return peekState(store, agentId)
         } catch {
           return peekState(store, agentId)
         }`,
      ],
    ],
    suites: ['tree/names', 'tree/children'],
  },
  {
    name: 'one unreadable log prevents the search for a name',
    edits: [
      [
        `} catch (error) {
           if (!(error instanceof SubstratError)) throw error
           if (error.code === 'STORAGE_FAILED') this.failure ??= error`,
        `} catch (error) {
           throw error
           if (error.code === 'STORAGE_FAILED') this.failure ??= error`,
      ],
    ],
    suites: ['tree/names'],
  },
  {
    name: 'an unreadable agent counts as missing',
    edits: [
      [
        `{
           if (this.failure !== undefined) throw this.failure
         }`,
        `{
         }`,
      ],
    ],
    suites: ['tree/names'],
  },
  {
    name: "removing an agent's name also removes its successor's",
    edits: [['if (index.lookUp(name ?? id) === id) index.forget(name ?? id)', 'index.forget(name ?? id)']],
    suites: ['tree/children'],
  },
  {
    name: 'a path accepts text that is not an id',
    edits: [['if (!isUuid(id)) assert(false, `an id in a path is a uuid, not ${JSON.stringify(id)}`)', ';']],
    suites: ['storage/paths', 'storage/mailboxes'],
  },
  {
    name: 'a path accepts any text as the name of a blob',
    edits: [["assert(SHA256.test(sha256), 'a blob is named by its sha256')", ';']],
    suites: ['storage/paths', 'storage/log/blobs'],
  },
]
