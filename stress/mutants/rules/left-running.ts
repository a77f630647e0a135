/** Processes left by a dead turn are killed, and no others. */
import type { Mutant } from '../mutant.js'

export const LEFT_RUNNING: Mutant[] = [
  {
    name: 'recovery does not kill the process groups of a dead turn',
    place: 'recovery/settle.ts killPrograms',
    edits: { 'await:1.argument': "@callee(@arguments.0, 'nobody', @arguments.2).then(() => 'gone')" },
    suites: ['recovery/settle-programs', 'recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'recovery does not kill the program of a dead turn',
    place: 'recovery/settle.ts killPrograms',
    edits: { 'array:2.elements.0': '' },
    suites: ['recovery/settle#is dead before its provider', 'recovery/settle-killed'],
  },
  {
    name: 'recovery does not kill the tools of a dead turn',
    place: 'recovery/settle.ts killPrograms',
    edits: { 'spreadElement:2': '' },
    suites: ['recovery/settle-programs'],
  },
  {
    name: 'recovery does not kill the tool servers of a dead turn',
    place: 'recovery/settle.ts killPrograms',
    edits: { 'spreadElement:3': '' },
    suites: ['recovery/settle-programs'],
  },
  {
    name: 'recovery does not kill the detached children of a dead program',
    place: 'recovery/settle.ts killEscapedFrom',
    edits: { 'await:1': '(@argument.arguments.1.callee).length * 0' },
    suites: ['recovery/settle-programs#other process group'],
  },
  {
    name: 'recovery does not kill the detached children of a killed tool',
    place: 'recovery/settle.ts killEscapedFrom',
    edits: { 'if:2': '' },
    suites: ['recovery/settle-programs#other process group'],
  },
  {
    name: 'recovery does not stop the server that a dead turn had kept',
    place: 'recovery/settle.ts settle',
    edits: {
      'await:2': '{ @logical:1.left.property: false, @await:3.argument.arguments.1.property: undefined }',
    },
    suites: ['recovery/settle-programs#had kept is stopped'],
  },
  {
    name: 'the programs of a holder outlive its lease',
    place: 'provider/leash.ts leash',
    edits: { 'if:1': '' },
    suites: ['store-postgres/leash#when the lease of a stopped holder'],
  },
  {
    name: 'recovery kills a process of another run',
    place: 'provider/process-group.ts membersOf',
    edits: { 'logical:3.right': '@left.left !== null' },
    suites: ['provider/program#no process of another run', 'recovery/settle-programs'],
  },
  {
    name: 'recovery kills a process older than its record',
    place: 'provider/process-group.ts membersOf',
    edits: { 'logical:4': '@left' },
    suites: ['provider/program#no process that is older', 'recovery/settle-programs'],
  },
  {
    name: 'after a reboot recovery kills processes by their old numbers',
    place: 'provider/process-group.ts killTagged',
    edits: { 'if:1': '' },
    suites: ['provider/program#no process after a reboot'],
  },
  {
    name: 'recovery continues beside a program on another host',
    place: 'recovery/settle.ts killPrograms',
    edits: { 'if:2': '' },
    suites: ['recovery/other-host'],
  },
  {
    name: 'a kept server on another host counts as gone',
    place: 'provider/kept-server.ts killKeptServer',
    edits: { 'if:1': '' },
    suites: ['recovery/other-host#a kept server blocks'],
  },
  {
    name: 'a clone counts as this machine before a restart',
    place: 'host/whereabouts.ts placeOf',
    edits: { 'conditional:1': '@alternate' },
    suites: ['host/whereabouts'],
  },
  {
    name: 'recovery kills the same numbers in another pid namespace',
    place: 'provider/process-group.ts killTagged',
    edits: { 'if:2': '' },
    suites: ['provider/program#no process after a reboot'],
  },
  {
    name: 'recovery kills detached processes from another pid namespace',
    place: 'provider/process-group.ts killEscaped',
    edits: { 'logical:1': '@left.left === @right.right' },
    suites: ['provider/program'],
  },
  {
    name: 'the leash spares a process that left the process group',
    place: 'provider/leash.ts WATCHER',
    edits: { 'templateLiteral:1': ['kill -9 "\\$', 'false "\\$'] },
    suites: ['provider/leash#the whole program dies'],
  },
  {
    name: 'a signal to every process ends the leash',
    place: 'provider/leash.ts WATCHER',
    edits: { 'templateLiteral:1': ['9 | 17', '9 | 15 | 17'] },
    suites: ['provider/leash#as in a shutdown'],
  },
  {
    name: 'the leash kills a process group that reuses the number',
    place: 'provider/leash.ts WATCHER',
    edits: { 'templateLiteral:1': ['}" = "$2" ]', '}" = "$2" ] || true'] },
    suites: ['provider/leash#does not kill a group'],
  },
  {
    name: 'the timer of a leash does not end the program',
    place: 'provider/leash.ts WATCHER',
    edits: { 'templateLiteral:1': ['  end_program "$1" "$2" "$3"\n  echo over', '  echo over'] },
    suites: ['store-postgres/leash#when the lease of a stopped holder'],
  },
  {
    name: 'the guard of a leash does not end the program after the death of its timer',
    place: 'provider/leash.ts WATCHER',
    edits: { 'templateLiteral:1': ['[ "$word" != over ]', 'exit 0; [ "$word" != over ]'] },
    suites: ['store-postgres/leash#is killed alone'],
  },
  {
    name: 'a turn is taken over before the margin after its lease',
    place: 'session/session.ts Session.leashesLeftMs',
    edits: { 'conditional:1.alternate': '0' },
    suites: ['store-postgres/takeover#not before the margin'],
  },
  {
    name: 'a program whose record names no lease is taken over',
    place: 'recovery/takeover.ts programRow',
    edits: { 'logical:3': '@left' },
    suites: ['recovery/other-host#on a leash'],
  },
  {
    name: 'a kept server is not released from the leash',
    place: 'provider/kept-server-host.ts KeptServerHost.close',
    edits: { 'expression:1': '' },
    suites: ['provider/kept-server#after a turn that kept the server'],
  },
  {
    name: 'a reused kept server is not on the leash',
    place: 'provider/kept-server-host.ts KeptServerHost.keptServer',
    edits: { 'expression:2': '' },
    suites: ['provider/kept-server#in use again'],
  },
  {
    name: 'recovery kills detached processes of another run',
    place: 'provider/process-group.ts escapedFrom',
    edits: {
      'logical:2.right':
        '((@{provider/process-group.ts hasTag|function:1.params.0}, @{provider/process-group.ts hasTag|function:1.params.1}) => @{provider/process-group.ts hasTag|call:1} !== undefined)(@arguments.0, @arguments.1)',
    },
    suites: ['provider/program#started in other sessions'],
  },
]
