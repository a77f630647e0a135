/** Rule 2: intent before effect. Each record or name is written before the action that it announces. */
import type { Mutant } from '../mutant.js'

export const INTENT: Mutant[] = [
  {
    name: 'a program runs before its process group is recorded',
    place: 'provider/start-barrier.ts startBehindBarrier',
    edits: {
      'expression:6':
        ";(@as:1).write('\\n')\nawait new Promise((resolve) => setTimeout(resolve, 300))\n@self",
    },
    suites: ['provider/program'],
  },
  {
    name: 'the start barrier does not hold back the program',
    place: 'provider/start-barrier.ts BARRIER',
    edits: { 'templateLiteral:1': ['read -r _ <&3 || exit 125; ', ''] },
    suites: ['provider/program'],
  },
  {
    name: 'the start barrier opens when substrat dies',
    place: 'provider/start-barrier.ts BARRIER',
    edits: { 'templateLiteral:1': [' || exit 125', ''] },
    suites: ['provider/program'],
  },
  {
    name: 'the start barrier opens although the record could not be written',
    place: 'provider/start-barrier.ts startBehindBarrier',
    edits: {
      'expression:7': '@empty:1\n@function:1.body.body.15',
      'catchClause:1.body.body.1': '',
      'catchClause:1.body.body.2': '',
    },
    suites: ['provider/program'],
  },
  {
    name: 'the process group of a program is not recorded',
    place: 'turn/step/step.ts step',
    edits: { 'object:2': '' },
    suites: ['turn/step/step', 'turn/drive-agent'],
  },
  {
    name: 'the process group of a tool is not recorded',
    place: 'turn/tool-runs.ts ToolRuns.run',
    edits: { 'expression:3': '' },
    suites: ['turn/drive-tools#is recorded with its process group'],
  },
  {
    name: 'the process group of a tool server is not recorded',
    place: 'turn/tool-runs.ts ToolRuns.startToolServers',
    edits: { 'expression:2': '' },
    suites: ['turn/drive-tools#starts its tool server', 'commands/tools'],
  },
  {
    name: 'a request to a model is not recorded',
    place: 'turn/step/records.ts askStep',
    edits: { 'conditional:1': '[]' },
    suites: ['turn/step/step'],
  },
  {
    name: 'a model is asked before the records of its turn are written',
    place: 'turn/drive.ts Turn.persist',
    edits: {
      'expression:2':
        "if (@property:2.key?.@{turn/drive.ts drive|binary:1.left.expression.property} === 'ask') setTimeout(() => @expression, 20)\nelse @self",
    },
    suites: ['turn/drive-model'],
  },
  {
    name: 'a built-in tool runs without a record of its start',
    place: 'turn/step/calls.ts proceed',
    edits: { 'expression:2.expression': 'void 0' },
    suites: ['turn/drive-tools#is recorded with its process group'],
  },
  {
    name: 'a tool call of a program is recorded only after it has run',
    place: 'turn/ask/program-calls.ts ProgramCalls.call',
    edits: { 'expression:1': '@variable:5', 'variable:5': '@expression:1' },
    suites: ['turn/ask/program-calls'],
  },
  {
    name: 'a program is released before its reply is recorded',
    place: 'turn/ask/ask-agent.ts askAgent',
    edits: { 'expression:8': '@if:2.consequent.body.0', 'try:1.block.body.13': '@expression:8' },
    suites: ['turn/drive-agent'],
  },
  {
    name: 'the native state of a program is recorded only at its end',
    place: 'turn/ask/program-events.ts Heard.take',
    edits: { 'expression:5.expression': '@arguments.0.properties.1.value' },
    suites: ['turn/drive-agent'],
  },
  {
    name: 'a kept server runs before it is recorded',
    place: 'turn/step/step.ts step',
    edits: { 'object:7': '' },
    suites: ['turn/drive-kept-server'],
  },
  {
    name: 'a turn begins without a slot',
    place: 'turn/drive.ts drive',
    edits: { 'binary:1': '@left.expression.object === null' },
    suites: ['turn/drive-model'],
  },
  {
    name: 'an agent exists before its name is reserved',
    place: 'tree/create-agent.ts createAgent',
    edits: {
      'expression:1': '@variable:5\nconst result = @await:3\n@self\nreturn result',
      'variable:5': '',
      'return:2': '',
    },
    suites: ['tree/create-agent', 'tree/create-agent-below', 'tree/names'],
  },
  {
    name: 'an agent exists before its marker',
    place: 'storage/create-agent.ts createAgent',
    edits: { 'expression:3': '' },
    suites: ['tree/create-agent', 'storage/create-agent'],
  },
  {
    name: 'a message file is removed before its delivery is recorded',
    place: 'dispatch/advance.ts takeMail',
    edits: {
      'expression:4':
        'for (const { @templateLiteral:1.expressions.0.property } of @expression.arguments.2) @call:6.callee(@templateLiteral:1.expressions.0.property)\n@self',
    },
    suites: ['dispatch/visit'],
  },
  {
    name: 'the file of a control is removed before its record is written',
    place: 'dispatch/visit.ts applyControls',
    edits: {
      'expression:2':
        "for (const each of @expression.arguments.0)\nif ('message_id' in each)\n((@{mail/inbox.ts removeDelivered|function:1.params.0}, @{mail/inbox.ts removeDelivered|forOf:1.left.declarations.0.id}) => @{mail/inbox.ts removeDelivered|if:1.consequent.expression})(@expression.callee.object, each.message_id)\n@self",
      'expression:3': '',
    },
    suites: ['dispatch/visit'],
  },
  {
    name: 'the outbox counts as sent before it is sent',
    place: 'mail/answers.ts sendOutbox',
    edits: { 'forOf:1': '@expression:5\n@self' },
    suites: ['mail/answers'],
  },
  {
    name: 'the outbox counts as sent although one message could not be sent',
    place: 'mail/answers.ts sendOutbox',
    edits: { 'if:3': 'if (@test)\n@consequent' },
    suites: ['mail/answers'],
  },
  {
    name: 'a message to a terminated agent is removed before it is answered',
    place: 'mail/answers.ts returnMail',
    edits: { 'if:3': '@expression:5', 'expression:5': '@if:3' },
    suites: ['mail/answers'],
  },
  {
    name: 'remove deletes the files of an agent before renaming it aside',
    place: 'storage/file-store.ts FileStore.remove',
    edits: { 'call:3': "@call:6.callee('remove.tree', @arguments.1)" },
    suites: ['storage/store'],
  },
  {
    name: "the search for a wait cycle precedes the waiter's own edge",
    place: 'tree/waits.ts beginWait',
    edits: { 'variable:1': '@expression:1\n@self', 'expression:1': '' },
    suites: ['turn/tools/await-reply'],
  },
  {
    name: 'a log is replaced before the damaged log is set aside',
    place: 'audit/rebuild-log.ts rebuildUnderLock',
    edits: { 'logical:3': '@right' },
    suites: ['audit/rebuild-log'],
  },
  {
    name: 'a call of a missing tool is executed instead of refused',
    place: 'turn/step/calls.ts proceed',
    edits: { 'binary:2.right': "'none'" },
    suites: ['turn/drive-tools#for a missing tool'],
  },
]
