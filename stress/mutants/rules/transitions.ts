/** A run has one end, a call has one result, and no transition happens from the wrong state. */
import type { Mutant } from '../mutant.js'

export const TRANSITIONS: Mutant[] = [
  {
    name: 'a log of an older format is written without its upgrade',
    place: 'session/batch.ts upgradeOf',
    edits: { 'if:1.test': 'true' },
    suites: ['commands/upgrade'],
  },
  {
    name: 'the totals of an older log are not counted when it is written',
    place: 'session/load.ts withUsage',
    edits: { 'if:1.test': 'true' },
    suites: ['commands/upgrade'],
  },
  {
    name: 'the fold applies a record of another run to the open run',
    place: 'session/fold/run.ts openRun',
    edits: { 'binary:3': '@right === null' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts a second end of a run',
    place: 'session/fold/run.ts openRun',
    edits: { 'logical:1': '@left' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts a run that starts while another is open',
    place: 'session/fold/run.ts runStarted',
    edits: { 'if:2': '' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts a run in an inactive session',
    place: 'session/fold/run.ts runStarted',
    edits: { 'binary:1': '@left === null' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts every transition of a session',
    place: 'session/fold/session.ts moveTo',
    edits: { 'call:1': '@callee.object' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts records after termination',
    place: 'session/fold/fold.ts fold',
    edits: { 'logical:1': '@left.left === null' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts any first record',
    place: 'session/fold/fold.ts fold',
    edits: { 'binary:2': '@left === null' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts a second session.created',
    place: 'session/fold/fold.ts apply',
    edits: { 'throw:1': '@return:18' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts the termination of a session with an open run',
    place: 'session/fold/fold.ts apply',
    edits: { 'binary:1': '@left.expression.object === undefined' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts the termination of a session with a kept server',
    place: 'session/fold/fold.ts apply',
    edits: { 'binary:2': '@left === null' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts the end of a server that is not kept',
    place: 'session/fold/fold.ts apply',
    edits: { 'if:6.test': '@right === null' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts a reminder that is set twice',
    place: 'session/fold/mail.ts reminderSet',
    edits: { 'binary:1.right': 'null' },
    suites: ['session/fold/mail'],
  },
  {
    name: 'the fold accepts two calls with one id',
    place: 'session/fold/turn.ts foldResponse',
    edits: { 'binary:1': '@left.object.arguments.0.callee.object === null' },
    suites: ['session/fold/turn'],
  },
  {
    name: 'the fold accepts a second start of a call',
    place: 'session/fold/turn.ts toolStarted',
    edits: { 'call:3.arguments.2': 'undefined' },
    suites: ['session/fold/turn'],
  },
  {
    name: "the fold accepts a second start of a program's call",
    place: 'session/fold/turn.ts toolStarted',
    edits: { 'binary:1.right': 'null' },
    suites: ['session/fold/turn'],
  },
  {
    name: 'the fold accepts a second result of a call',
    place: 'session/fold/turn.ts toolFinished',
    edits: { 'if:2': 'void @test.left.expression.object' },
    suites: ['session/fold/turn'],
  },
  {
    name: 'the fold accepts a result without a call',
    place: 'session/fold/turn.ts withCall',
    edits: { 'throw:1': 'return @argument.arguments.0.expressions.1.object' },
    suites: ['session/fold/turn'],
  },
  {
    name: 'a model is asked while a call has no result',
    place: 'turn/step/calls.ts proceed',
    edits: { 'if:4.test.right': '9' },
    suites: ['turn/drive-tools#parks the run', 'turn/step-properties'],
  },
  {
    name: 'a failed run leaves calls without results',
    place: 'turn/step/step.ts step',
    edits: { 'spreadElement:14': '' },
    suites: ['turn/step/step', 'turn/step-properties'],
    equivalent:
      'only a request to a model or a program fails, and no request is made while a call has no result',
  },
  {
    name: 'a cancelled run leaves calls without results',
    place: 'turn/step/step.ts stoppedRecords',
    edits: { 'call:7': "@callee({ ...@arguments.0, @object:2.properties.1.key: [] }, '')" },
    suites: ['turn/step-properties', 'turn/drive-tools'],
  },
  {
    name: 'a superseded run leaves calls without results',
    place: 'turn/step/step.ts supersedingRecords',
    edits: { 'spreadElement:2': '' },
    suites: ['turn/step-properties', 'turn/step/step'],
  },
  {
    name: 'calls of an interrupted run get no results before the next message',
    place: 'turn/step/step.ts begin',
    edits: { 'conditional:2': '[]' },
    suites: ['turn/step-properties', 'turn/prompt/history'],
  },
  {
    name: 'a tool that was stopped before it ran gets no result',
    place: 'turn/step/step.ts stoppedRecords',
    edits: { 'spreadElement:4': '' },
    suites: ['turn/step/step'],
  },
  {
    name: 'a run may ask its model more often than the limit',
    place: 'turn/step/calls.ts proceed',
    edits: { 'if:5.test.right': '@self + 50' },
    suites: ['turn/drive-tools#--max-steps', 'turn/step-properties'],
  },
  {
    name: 'a session stays active after its run ends',
    place: 'turn/step/step.ts withSuspension',
    edits: { 'array:1': '@elements.0.argument' },
    suites: ['turn/step/step'],
  },
  {
    name: 'a tool runs without permission',
    place: 'turn/step/calls.ts isFree',
    edits: { 'logical:1': '@left.left.left.left !== null' },
    suites: ['turn/drive-tools#parks the run'],
  },
  {
    name: 'a conversation is compacted repeatedly without new calls',
    place: 'turn/step/model.ts mayCompact',
    edits: {
      'logical:1':
        '@left.argument !== null || @right.left.left.expression.object === @right.right.left.expression.object',
    },
    suites: ['turn/prompt/compact#because it is too long again'],
  },
  {
    name: 'the compacted conversation is adopted before the repeated request succeeded',
    place: 'turn/step/model.ts triedRecord',
    edits: {
      'return:1.argument':
        '@{turn/step/model.ts modelResponded|call:1.callee}(@function:1.params.0, @call:1.arguments.0)',
    },
    suites: ['turn/prompt/compact#stays whole if the shorter ones are refused too'],
  },
]
