/** Rule 10: the loss of markers, snapshots and indexes costs only time. */
import type { Mutant } from '../mutant.js'

export const REBUILDABLE: Mutant[] = [
  {
    name: 'markers are trusted after a reboot',
    place: 'storage/boots.ts Boots.isScanned',
    edits: { 'binary:1': '@left.expression.callee.object !== null' },
    suites: ['storage/store', 'storage/rules#10:'],
  },
  {
    name: 'on another device the markers are trusted',
    place: 'storage/boots.ts Boots.isScanned',
    edits: { 'binary:1': '@left.expression.callee.object !== undefined' },
    suites: ['storage/store'],
  },
  {
    name: 'a recovery takes the temporary file of another',
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
    edits: { 'if:2': '@test\n@consequent' },
    suites: ['dispatch/recovering'],
  },
  {
    name: 'an index that has lost entries is trusted for a miss',
    place: 'storage/names.ts NameIndex.isMissTrusted',
    edits: { 'logical:1': '@right' },
    suites: ['storage/names', 'tree/names'],
  },
  {
    name: 'a damaged entry of an index is trusted for a miss',
    place: 'storage/names.ts NameIndex.isMissTrusted',
    edits: { 'unary:1': '@argument.left !== null' },
    suites: ['storage/names', 'tree/names'],
  },
  {
    name: 'an index with damaged entries is trusted whole',
    place: 'storage/names.ts NameIndex.ids',
    edits: { 'logical:1': '@left' },
    suites: ['tree/children'],
  },
  {
    name: 'an index that has lost entries is trusted whole',
    place: 'storage/names.ts NameIndex.ids',
    edits: { 'logical:1': '@right' },
    suites: ['tree/children'],
  },
  {
    name: 'an index is called complete while an agent cannot be read',
    place: 'tree/children.ts rebuild',
    edits: { 'binary:1.left': '@variableDeclarator:2.id' },
    suites: ['tree/children', 'tree/names'],
  },
  {
    name: 'an index that was deleted is not built again',
    place: 'tree/children.ts lockChildren',
    edits: {
      'call:3':
        '@variableDeclarator:1.id.@{storage/names.ts NameIndex.markComplete|methodDefinition:1.key}()',
    },
    suites: ['tree/children'],
  },
  {
    name: 'an index of roots that was deleted is not built again',
    place: 'tree/children.ts lockRoots',
    edits: {
      'call:3':
        '@variableDeclarator:1.id.@{storage/names.ts NameIndex.markComplete|methodDefinition:1.key}()',
    },
    suites: ['tree/children', 'tree/names'],
  },
  {
    name: 'a home that has agents has a complete index',
    place: 'storage/home.ts makeHome',
    edits: { 'binary:3': '@left >= 0' },
    suites: ['storage/home'],
  },
  {
    name: 'a marker that was moved aside is ignored',
    place: 'storage/store.ts FileStore.isMarked',
    edits: { 'call:2': '' },
    suites: ['storage/store'],
  },
  {
    name: 'the final check before a marker is removed comes too early',
    place: 'storage/store.ts FileStore.unmark',
    edits: { 'if:2': '@alternate' },
    suites: ['storage/store', 'mail/post'],
  },
  {
    name: 'a marker goes where something is owed',
    place: 'storage/store.ts FileStore.unmark',
    edits: { 'if:1': '' },
    suites: ['storage/store', 'session/session'],
  },
  {
    name: 'a marker is taken away where it stands',
    place: 'storage/store.ts FileStore.unmark',
    edits: {
      'expression:1':
        "if (!@call:3) {\n@expression:3\n@expression:3.expression.callee('marker.unlink', @expression.arguments.1)\n}",
      'if:2': '',
    },
    suites: ['storage/store', 'mail/post'],
  },
  {
    name: 'mail is stored before its marker',
    place: 'mail/post.ts post',
    edits: { 'arrowFunction:1': '' },
    suites: ['mail/post'],
  },
  {
    name: 'mail is marked before its temporary file is visible',
    place: 'mail/post.ts post',
    edits: { 'variable:3': '@expression:3\nconst @declarations.0.id = @call:1' },
    suites: ['mail/post'],
  },
  {
    name: 'mail that is being stored is passed over',
    place: 'storage/maildir.ts hasMessages',
    edits: { 'logical:1': '@left' },
    suites: ['mail/post'],
  },
  {
    name: 'mail is not marked again once it is stored',
    place: 'mail/post.ts post',
    edits: { 'expression:3': '' },
    suites: ['mail/post'],
  },
  {
    name: 'the marker goes with something owed',
    place: 'session/session.ts Session.close',
    edits: { 'arrowFunction:1.body': '@callee === null' },
    suites: ['session/session'],
  },
  {
    name: 'an agent with mail is owed nothing',
    place: 'recovery/visit-reason.ts reasonToVisit',
    edits: { 'if:4': '' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent that owes answers is owed nothing',
    place: 'recovery/visit-reason.ts reasonToVisit',
    edits: { 'if:1': '' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent with an open run is owed nothing',
    place: 'recovery/visit-reason.ts reasonToVisit',
    edits: { 'logical:1': '@right' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent whose turn was interrupted is owed nothing',
    place: 'recovery/visit-reason.ts reasonToVisit',
    edits: { 'logical:1': '@left' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent with a reminder is owed nothing',
    place: 'recovery/visit-reason.ts reasonToVisit',
    edits: { 'conditional:2': '@alternate' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent that was poked is owed nothing',
    place: 'recovery/visit-reason.ts reasonToVisit',
    edits: { 'if:7': '' },
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'the marker of a spawn that lives goes',
    place: 'dispatch/pending-visits.ts unmarkAbsent',
    edits: { 'logical:1': '@right' },
    suites: ['tree/create-agent', 'dispatch/recovering'],
  },
  {
    name: 'the marker of an agent that was just born goes',
    place: 'dispatch/pending-visits.ts unmarkAbsent',
    edits: { 'logical:1': '@right || @left' },
    suites: ['tree/create-agent'],
    equivalent: 'the second check, which asks both questions again, finds a name that changed between them',
  },
]
