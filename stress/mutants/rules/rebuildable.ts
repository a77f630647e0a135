/** Rule 10: the loss of markers, snapshots and indexes costs only time. */
import type { Mutant } from '../mutant.js'

export const REBUILDABLE: Mutant[] = [
  {
    name: 'markers are trusted after a reboot',
    place: 'storage/boots.ts Boots.isScanned',
    edits: { 'binary:1': '@left !== null' },
    suites: ['storage/store', 'storage/rules#10:'],
  },
  {
    name: 'markers are trusted after the home moved to another device',
    place: 'storage/boots.ts Boots.isScanned',
    edits: { 'binary:1': '@left !== undefined' },
    suites: ['storage/store'],
  },
  {
    name: 'a recovery removes the temporary file of another recovery',
    place: 'storage/boots.ts Boots.markScanned',
    edits: { 'logical:1': '@right' },
    suites: ['storage/store'],
  },
  {
    name: 'after a reboot only marked agents are visited',
    place: 'dispatch/pending-visits.ts withPendingAgents',
    edits: { 'array:1': '@elements.0.argument.arguments.0.elements.1.argument' },
    suites: ['dispatch/recovering'],
  },
  {
    name: 'a boot counts as scanned although some agents were not',
    place: 'dispatch/pending-visits.ts withPendingAgents',
    edits: { 'if:3': '@test\n@consequent' },
    suites: ['dispatch/recovering'],
  },
  {
    name: 'a miss in an incomplete index is trusted',
    place: 'storage/names.ts NameIndex.isMissTrusted',
    edits: { 'logical:1': '@right' },
    suites: ['storage/names', 'tree/names'],
  },
  {
    name: 'a damaged entry counts as a miss',
    place: 'storage/names.ts NameIndex.isMissTrusted',
    edits: { 'unary:1': '@argument.left !== null' },
    suites: ['storage/names', 'tree/names'],
  },
  {
    name: 'an index with damaged entries counts as a complete list',
    place: 'storage/names.ts NameIndex.ids',
    edits: { 'logical:1': '@left' },
    suites: ['tree/children'],
  },
  {
    name: 'an incomplete index counts as a complete list',
    place: 'storage/names.ts NameIndex.ids',
    edits: { 'logical:1': '@right' },
    suites: ['tree/children'],
  },
  {
    name: 'an index is marked complete although an agent could not be read',
    place: 'tree/children.ts rebuild',
    edits: { 'binary:1.left': '@variableDeclarator:2.id' },
    suites: ['tree/children', 'tree/names'],
  },
  {
    name: 'a deleted index of children is marked complete without a rebuild',
    place: 'tree/children.ts lockChildren',
    edits: {
      'call:3':
        '@variableDeclarator:1.id.@{storage/names.ts NameIndex.markComplete|methodDefinition:1.key}()',
    },
    suites: ['tree/children'],
  },
  {
    name: 'a deleted index of roots is marked complete without a rebuild',
    place: 'tree/children.ts lockRoots',
    edits: {
      'call:3':
        '@variableDeclarator:1.id.@{storage/names.ts NameIndex.markComplete|methodDefinition:1.key}()',
    },
    suites: ['tree/children', 'tree/names'],
  },
  {
    name: 'a home with agents but without an index gets one that is marked complete',
    place: 'storage/home.ts makeHome',
    edits: { 'binary:3': '@left >= 0' },
    suites: ['storage/home'],
  },
  {
    name: 'a marker that was renamed aside is ignored',
    place: 'storage/markers.ts Markers.isMarked',
    edits: { 'call:2': '' },
    suites: ['storage/store'],
  },
  {
    name: 'the last check before a marker is removed comes too early',
    place: 'storage/markers.ts Markers.unmark',
    edits: { 'if:2': '@alternate' },
    suites: ['storage/store', 'mail/post'],
  },
  {
    name: 'a marker is renamed aside although the agent needs a visit',
    place: 'storage/markers.ts Markers.unmark',
    edits: { 'if:1': '' },
    suites: ['storage/store', 'session/session'],
  },
  {
    name: 'a marker is removed without being renamed aside first',
    place: 'storage/markers.ts Markers.unmark',
    edits: {
      'expression:1':
        "if (!@call:3) {\n@expression:3\n@expression:3.expression.callee('marker.unlink', @expression.arguments.1)\n}",
      'if:2': '',
    },
    suites: ['storage/store', 'mail/post'],
  },
  {
    name: 'a message is stored before its recipient is marked',
    place: 'storage/mailboxes.ts Mailboxes.put',
    edits: { 'arrowFunction:1': '' },
    suites: ['mail/post'],
  },
  {
    name: "the recipient is marked before the message's temporary file exists",
    place: 'storage/mailboxes.ts Mailboxes.put',
    edits: { 'variable:2': '@expression:2\nconst @declarations.0.id = @call:3' },
    suites: ['mail/post'],
  },
  {
    name: 'an inbox with only a temporary file counts as empty',
    place: 'storage/maildir.ts hasMessages',
    edits: { 'logical:1': '@left' },
    suites: ['mail/post'],
  },
  {
    name: 'the recipient is not marked again after the message is stored',
    place: 'storage/mailboxes.ts Mailboxes.put',
    edits: { 'expression:2': '' },
    suites: ['mail/post'],
  },
  {
    name: 'close removes the marker although the agent needs a visit',
    place: 'storage/agent-lease.ts AgentLease.rest',
    edits: { 'arrowFunction:1.body': 'false' },
    suites: ['session/session'],
  },
  {
    name: 'close removes the marker of an agent that has mail',
    place: 'storage/agent-lease.ts AgentLease.rest',
    edits: { 'logical:1': '@left' },
    suites: ['mail/post', 'session/session', 'storage/conformance'],
  },
  {
    name: 'the inbox is not read again after a turn',
    place: 'turn/append-step.ts appendEnd',
    edits: { 'expression:1': '' },
    suites: ['dispatch/visit', 'dispatch/deliveries', 'mail/inbox', 'turn/drive-model'],
  },
  {
    name: 'an agent with mail needs no visit',
    place: 'recovery/visit-reason.ts reasonToVisit',
    edits: { 'if:2': '' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent with an unsent outbox needs no visit',
    place: 'recovery/visit-reason.ts reasonToVisit',
    edits: { 'if:1': '' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent with an open run needs no visit',
    place: 'recovery/visit-reason.ts reasonInState',
    edits: { 'logical:1': '@right' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent with an interrupted turn needs no visit',
    place: 'recovery/visit-reason.ts reasonInState',
    edits: { 'logical:1': '@left' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent with a reminder needs no visit',
    place: 'recovery/visit-reason.ts reasonInState',
    edits: { 'conditional:1': '@alternate' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent that was poked needs no visit',
    place: 'recovery/visit-reason.ts reasonInState',
    edits: { 'if:5': '' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'the marker of a spawn in progress is removed',
    place: 'storage/markers.ts Markers.unmarkAbsent',
    edits: { 'logical:1': '@right' },
    suites: ['tree/create-agent', 'dispatch/recovering'],
  },
  {
    name: 'the marker of an agent that was just created is removed',
    place: 'storage/markers.ts Markers.unmarkAbsent',
    edits: { 'logical:1': '@right || @left' },
    suites: ['tree/create-agent'],
    equivalent: 'the second check, which asks both questions again, finds a name that changed between them',
  },
  {
    name: 'only input and output tokens are added up',
    place: 'session/fold/usage.ts combined',
    edits: { 'expression:1': '' },
    suites: ['turn/step-properties'],
  },
  {
    name: 'the usage of a compaction is not counted',
    place: 'turn/step/model.ts summaryFields',
    edits: { 'conditional:1': '{}' },
    suites: ['turn/step-properties'],
  },
]
