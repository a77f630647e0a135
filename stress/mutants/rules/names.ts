/** Names: which ones are valid, and what they resolve to. */
import type { CodeMutant, Mutant } from '../mutant.js'

const noName = (what: string, edits: CodeMutant['edits']): Mutant => ({
  name: `a name may be ${what}`,
  place: 'tree/names.ts whyNoName',
  edits,
  suites: ['tree/names'],
})

export const NAMES: Mutant[] = [
  noName('empty', { 'if:1': '' }),
  noName('wrapped in spaces', { 'if:2': '' }),
  noName('of any length', { 'binary:3': '@left < 0' }),
  noName('a path', { 'if:4': '' }),
  noName('made of control characters', { 'if:5': '' }),
  noName('an option', { 'if:6': '' }),
  noName('a uuid', { 'if:7': '' }),
  noName('that of the operator', { 'if:8': '' }),
  {
    name: 'a child may be called parent',
    place: 'tree/create-agent.ts createAgent',
    edits: { 'if:2': '' },
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'a name is kept as it was composed',
    place: 'tree/names.ts checkName',
    edits: { 'call:1': '@callee.object' },
    suites: ['tree/names'],
  },
  {
    name: 'names that differ in case are two',
    place: 'format.ts foldName',
    edits: { 'call:2': '@callee.object.callee.object' },
    suites: ['tree/names'],
  },
  {
    name: 'names that differ in composition are two',
    place: 'format.ts foldName',
    edits: { 'call:1': '(@callee.object.callee.object.callee.object).@callee.object.callee.property()' },
    suites: ['tree/names'],
  },
  {
    name: 'two living siblings have one name',
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
    name: 'a name leads to an agent that never came to be',
    place: 'tree/names.ts findRoot',
    edits: { 'logical:1': '@left' },
    suites: ['tree/names'],
  },
  {
    name: 'an ambiguous id prefix means the first agent',
    place: 'tree/names.ts findByPrefix',
    edits: { 'binary:1': '@left.object !== null' },
    suites: ['tree/names'],
  },
  {
    name: 'an ambiguous name means the first agent',
    place: 'tree/names.ts resolveAgent',
    edits: { 'binary:4': '@left > 0' },
    suites: ['tree/names'],
  },
  {
    name: 'one damaged log keeps every agent from being found',
    place: 'session/peek-state.ts readableState',
    edits: { 'catchClause:1': 'catch @try:1.block' },
    suites: ['tree/names', 'tree/children'],
  },
  {
    name: 'one damaged log keeps a bare name from being looked for',
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
    name: 'an id in a path may be anything',
    place: 'storage/paths.ts uuid',
    edits: { 'if:2': '' },
    suites: ['storage/paths', 'storage/mailboxes'],
  },
  {
    name: 'a blob may be named anything',
    place: 'storage/paths.ts AgentPaths.blob',
    edits: { 'expression:1': '' },
    suites: ['storage/paths', 'storage/log/blobs'],
  },
]
