/** A token: opened only by its secret, used once, for one decision. */
import type { Mutant } from '../mutant.js'

export const TOKENS: Mutant[] = [
  {
    name: 'any secret with the right id opens a token',
    place: 'turn/tokens.ts findToken',
    edits: { 'logical:1.right': '(@self || true)' },
    suites: ['turn/tokens'],
  },
  {
    name: 'secrets are compared in a time that depends on them',
    place: 'turn/tokens.ts findToken',
    edits: { 'logical:1.right': '@arguments.0.arguments.0 === @arguments.1.arguments.0' },
    suites: ['turn/tokens'],
    equivalent:
      'the answer is the same, and what could be timed are hashes, of which nobody can choose the beginning',
  },
  {
    name: 'the secret of a token is stored',
    place: 'turn/tokens.ts mintToken',
    edits: { 'call:4': '@arguments.0' },
    suites: ['turn/tokens'],
  },
  {
    name: 'the secret of a token can be guessed',
    place: 'turn/tokens.ts mintToken',
    edits: {
      'call:2': '(@call:4.callee(@variableDeclarator:1.id + String(@callee.object.callee(0)))).slice(0, 32)',
    },
    suites: ['turn/tokens'],
  },
  {
    name: 'anything is a token',
    place: 'turn/tokens.ts findToken',
    edits: { 'binary:1.right': 'null' },
    suites: ['turn/tokens'],
  },
  {
    name: 'a revoked token can be used',
    place: 'turn/tokens.ts checkToken',
    edits: { 'binary:1.right': 'null' },
    suites: ['turn/tokens'],
  },
  {
    name: 'an expired token can be used',
    place: 'turn/tokens.ts checkToken',
    edits: { 'call:2': '@arguments.0 === null' },
    suites: ['turn/tokens'],
  },
  {
    name: 'a token is good for a moment after its time',
    place: 'session/durations.ts isOver',
    edits: { 'binary:1': '@left < @right' },
    suites: ['turn/tokens'],
  },
  {
    name: 'two decisions with other words are one',
    place: 'turn/tokens.ts digestDecision',
    edits: { 'array:1.elements.1': '' },
    suites: ['turn/tokens'],
  },
  {
    name: 'a consumed token is used for another decision',
    place: 'operations/decide.ts decidedBefore',
    edits: { 'if:1': '' },
    suites: ['operations/decide'],
  },
  {
    name: 'a consumed token is used again',
    place: 'operations/decide.ts decideIn',
    edits: { 'binary:2.right': 'null' },
    suites: ['operations/decide'],
  },
  {
    name: 'nobody looks whether a token is good',
    place: 'operations/decide.ts decideIn',
    edits: { 'if:2': '' },
    suites: ['operations/decide'],
  },
  {
    name: 'a decision is about a wait that the token is not of',
    place: 'operations/decide.ts waitOf',
    edits: { 'logical:2': '@left.left !== undefined' },
    suites: ['operations/decide'],
  },
  {
    name: 'a question is approved, and an approval answered',
    place: 'operations/decide.ts decideIn',
    edits: { 'expression:2': '' },
    suites: ['operations/decide'],
  },
  {
    name: 'the token that is replaced stays good',
    place: 'turn/tokens.ts rotation',
    edits: { 'spreadElement:1': '' },
    suites: ['operations/decide'],
  },
  {
    name: 'a token is used up by no record',
    place: 'turn/tokens.ts consumedRecords',
    edits: { 'object:1': '' },
    suites: ['turn/step/step', 'turn/drive-tools', 'turn/step-properties'],
  },
  {
    name: 'a token is used or revoked twice',
    place: 'session/fold/tokens.ts withToken',
    edits: { 'if:5': '' },
    suites: ['session/fold/turn'],
  },
  {
    name: 'a token is minted twice',
    place: 'session/fold/tokens.ts withToken',
    edits: { 'binary:2.right': 'null' },
    suites: ['session/fold/turn'],
  },
  {
    name: 'a token is minted for a run that is not open',
    place: 'session/fold/tokens.ts withToken',
    edits: { 'binary:3': '@left.expression.object === null' },
    suites: ['session/fold/turn'],
  },
  {
    name: 'a token that was never minted is used',
    place: 'session/fold/tokens.ts withToken',
    edits: { 'throw:3': 'return @function:1.params.1' },
    suites: ['session/fold/turn'],
  },
  {
    name: 'an approval lets other calls through',
    place: 'session/fold/turn.ts foldResumed',
    edits: { 'call:3': '(@callee.object).length > 0' },
    suites: ['session/fold/turn', 'turn/drive-tools#waits with the other calls'],
  },
  {
    name: 'a denial lets its calls through',
    place: 'session/fold/turn.ts foldResumed',
    edits: { 'binary:2': '@left.expression.object != null' },
    suites: ['session/fold/turn'],
  },
  {
    name: 'a message that supersedes a wait leaves its token good',
    place: 'turn/step/step.ts supersedingRecords',
    edits: { 'spreadElement:1': '' },
    suites: ['turn/step/step', 'turn/step-properties', 'operations/decide'],
  },
  {
    name: 'a cancelled wait leaves its token good',
    place: 'operations/cancel.ts cancelRecords',
    edits: { 'spreadElement:1': '' },
    suites: ['operations/decide'],
  },
  {
    name: 'an agent decides what it is itself asked',
    place: 'operations/decide.ts decide',
    edits: { 'expression:1': '' },
    suites: ['operations/decide'],
  },
  {
    name: 'a duration that began under a clock that was ahead lasts until that clock comes',
    place: 'session/durations.ts isOver',
    edits: { 'logical:2': 'false' },
    suites: ['session/durations', 'dispatch/clock-ahead'],
  },
  {
    name: 'a clock that was set back revives a token',
    place: 'session/durations.ts isOver',
    edits: { 'if:2': '@return:1' },
    suites: ['session/durations', 'dispatch/clock-ahead'],
  },
  {
    name: 'nobody counts anew what began under a clock that was ahead',
    place: 'recovery/settle.ts settle',
    edits: { 'if:1': '' },
    suites: ['dispatch/clock-ahead'],
  },
  {
    name: 'a delay that began under a clock that was ahead is not counted anew',
    place: 'mail/inbox.ts dueMails',
    edits: { 'expression:1': '' },
    suites: ['dispatch/clock-ahead'],
  },
  {
    name: 'a duration is over once the clock is set back',
    place: 'session/durations.ts rebasedEnd',
    edits: { 'call:1': 'Math.min(@arguments.0, @call:2)' },
    suites: ['session/durations'],
  },
]
