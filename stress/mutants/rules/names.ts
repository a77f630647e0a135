/** Names: which ones are valid, and what they resolve to. */
import type { CodeMutant, Mutant } from '../mutant.js'

const noName = (what: string, edits: CodeMutant['edits']): Mutant => ({
  name: `spawn accepts a name that ${what}`,
  place: 'tree/names.ts whyNoName',
  edits,
  suites: ['tree/names'],
})

export const NAMES: Mutant[] = [
  noName('is empty', { 'if:1': '' }),
  noName('begins or ends with a space', { 'if:2': '' }),
  noName('is too long', { 'binary:3': '@left < 0' }),
  noName('has a slash', { 'if:4': '' }),
  noName('has a control character', { 'if:5': '' }),
  noName('begins with a dash', { 'if:6': '' }),
  noName('is a UUID', { 'if:7': '' }),
  noName('is reserved for the user', { 'if:8': '' }),
  {
    name: 'a child may be named parent',
    place: 'tree/create-agent.ts createAgent',
    edits: { 'if:2': '' },
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'a name is stored without Unicode normalization',
    place: 'tree/names.ts checkName',
    edits: { 'call:1': '@callee.object' },
    suites: ['tree/names'],
  },
  {
    name: 'names that differ only in case are different names',
    place: 'format.ts foldName',
    edits: { 'call:2': '@callee.object.callee.object' },
    suites: ['tree/names'],
  },
  {
    name: 'names that differ only in Unicode form are different names',
    place: 'format.ts foldName',
    edits: { 'call:1': '(@callee.object.callee.object.callee.object).@callee.object.callee.property()' },
    suites: ['tree/names'],
  },
  {
    name: 'two living siblings share a name',
    place: 'tree/create-agent.ts createAgent',
    edits: { 'if:3': 'void [@test.left.left, @consequent.argument.callee]' },
    suites: ['tree/names'],
  },
  {
    name: 'the name of a terminated agent stays taken',
    place: 'tree/names.ts isAlive',
    edits: { 'logical:1': '@left' },
    suites: ['tree/create-agent-below', 'tree/names'],
  },
  {
    name: 'a name resolves to an agent that was never created',
    place: 'storage/names.ts NameIndex.find',
    edits: { 'conditional:1': '@consequent' },
    suites: ['tree/names'],
  },
  {
    name: 'an ambiguous id prefix resolves to the first agent',
    place: 'tree/names.ts findByPrefix',
    edits: { 'binary:1': '@left.object !== null' },
    suites: ['tree/names'],
  },
  {
    name: 'an ambiguous name resolves to the first agent',
    place: 'tree/names.ts resolveAgent',
    edits: { 'binary:4': '@left > 0' },
    suites: ['tree/names'],
  },
  {
    name: 'one damaged log prevents the search for any agent',
    place: 'session/peek-state.ts readableState',
    edits: { 'catchClause:1': 'catch @try:1.block' },
    suites: ['tree/names', 'tree/children'],
  },
  {
    name: 'one unreadable log prevents the search for a name',
    place: 'tree/names.ts Scan.read',
    edits: { 'if:1': 'throw @catchClause:1.param' },
    suites: ['tree/names'],
  },
  {
    name: 'an unreadable agent counts as missing',
    place: 'tree/names.ts Scan.assertWhole',
    edits: { 'if:1': '' },
    suites: ['tree/names'],
  },
  {
    name: "removing an agent's name also removes its successor's",
    place: 'tree/children.ts forgetName',
    edits: { 'if:3': '@consequent' },
    suites: ['tree/children'],
  },
  {
    name: 'a path accepts text that is not an id',
    place: 'storage/paths.ts uuid',
    edits: { 'if:2': '' },
    suites: ['storage/paths', 'storage/mailboxes'],
  },
  {
    name: 'a path accepts any text as the name of a blob',
    place: 'storage/paths.ts AgentPaths.blob',
    edits: { 'expression:1': '' },
    suites: ['storage/paths', 'storage/log/blobs'],
  },
]
