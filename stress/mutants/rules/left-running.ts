/** Processes left by a dead turn are killed, and no others. */
import type { Mutant } from '../mutant.js'

export const LEFT_RUNNING: Mutant[] = [
  {
    name: 'programs of a dead turn survive',
    place: 'recovery/settle.ts killPrograms',
    edits: { 'await:1.argument': "@callee(@arguments.0, 'nobody', @arguments.2).then(() => 'gone')" },
    suites: ['recovery/settle-programs', 'recovery/settle#the recovery table'],
  },
  {
    name: 'of a dead turn only its tools are killed',
    place: 'recovery/settle.ts killPrograms',
    edits: { 'array:2.elements.0': '' },
    suites: ['recovery/settle#is dead before its provider'],
  },
  {
    name: 'of a dead turn its tools live on',
    place: 'recovery/settle.ts killPrograms',
    edits: { 'spreadElement:2': '' },
    suites: ['recovery/settle-programs'],
  },
  {
    name: 'of a dead turn its tool servers live on',
    place: 'recovery/settle.ts killPrograms',
    edits: { 'spreadElement:3': '' },
    suites: ['recovery/settle-programs'],
  },
  {
    name: 'detached children of a dead program survive',
    place: 'recovery/settle.ts killEscapedFrom',
    edits: { 'await:1': '(@argument.arguments.1.callee).length * 0' },
    suites: ['recovery/settle-programs#other process group'],
  },
  {
    name: 'detached children of a killed tool survive',
    place: 'recovery/settle.ts killEscapedFrom',
    edits: { 'if:2': '' },
    suites: ['recovery/settle-programs#other process group'],
  },
  {
    name: 'a server kept by a dead turn survives',
    place: 'recovery/settle.ts settle',
    edits: { 'await:1': '{ @logical:1.left.property: false, @property:4.key: undefined }' },
    suites: ['recovery/settle-programs#had kept is stopped'],
  },
  {
    name: 'a process of another run is killed',
    place: 'provider/process-group.ts membersOf',
    edits: { 'logical:3.right': '@left.left !== null' },
    suites: ['provider/program#no process of another run', 'recovery/settle-programs'],
  },
  {
    name: 'a process older than its record is killed',
    place: 'provider/process-group.ts membersOf',
    edits: { 'logical:4': '@left' },
    suites: ['provider/program#no process that is older', 'recovery/settle-programs'],
  },
  {
    name: 'after a restart of the machine the old numbers are killed',
    place: 'provider/process-group.ts killTagged',
    edits: { 'if:1': '' },
    suites: ['provider/program#no process after a reboot'],
  },
  {
    name: 'in another pid namespace the same numbers are killed',
    place: 'provider/process-group.ts killTagged',
    edits: { 'if:2': '' },
    suites: ['provider/program#no process after a reboot'],
  },
  {
    name: 'strays are killed in another pid namespace',
    place: 'provider/process-group.ts killEscaped',
    edits: { 'logical:1': '@left.left === @right.right' },
    suites: ['provider/program'],
  },
  {
    name: 'the leash spares a process that left the group',
    place: 'provider/leash.ts WATCHER',
    edits: { 'templateLiteral:1': ['kill -9 "\\$', 'false "\\$'] },
    suites: ['provider/leash#the whole program dies'],
  },
  {
    name: 'the leash ends in a shutdown that signals every process',
    place: 'provider/leash.ts WATCHER',
    edits: { 'templateLiteral:1': ['9 | 17', '9 | 15 | 17'] },
    suites: ['provider/leash#as in a shutdown'],
  },
  {
    name: 'the leash kills a group that has the number of another',
    place: 'provider/leash.ts WATCHER',
    edits: { 'templateLiteral:1': ['" = "$2" ]', '" = "$2" ] || true'] },
    suites: ['provider/leash#does not kill a group'],
  },
  {
    name: 'a kept server is not released from the leash',
    place: 'provider/kept-server-host.ts KeptServerHost.close',
    edits: { 'expression:1': '' },
    suites: ['provider/kept-server#after a turn that kept the server'],
  },
  {
    name: 'a server that is used again is not on the leash',
    place: 'provider/kept-server-host.ts KeptServerHost.keptServer',
    edits: { 'expression:1': '' },
    suites: ['provider/kept-server#in use again'],
  },
  {
    name: 'strays of another run are killed',
    place: 'provider/process-group.ts escapedFrom',
    edits: {
      'logical:2.right':
        '((@{provider/process-group.ts hasTag|function:1.params.0}, @{provider/process-group.ts hasTag|function:1.params.1}) => @{provider/process-group.ts hasTag|call:1} !== undefined)(@arguments.0, @arguments.1)',
    },
    suites: ['provider/program#started in other sessions'],
  },
]
