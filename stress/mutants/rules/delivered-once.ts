/** Rule 9: unlinked files may come back, so every consumer deduplicates by id. */
import type { Mutant } from '../mutant.js'

export const DELIVERED_ONCE: Mutant[] = [
  {
    name: 'the fold accepts a second delivery of a message',
    place: 'session/fold/mail.ts foldNoted',
    edits: { 'if:1': '' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'a delivered message whose file reappears is pending again',
    place: 'mail/stored-messages.ts pendingOf',
    edits: { 'unary:1': '@argument.arguments.0 !== null' },
    suites: ['mail/inbox'],
  },
  {
    name: 'messages are removed from the inbox before delivery',
    place: 'mail/inbox.ts removeDelivered',
    edits: { 'if:1': '@consequent' },
    suites: ['recovery/settle', 'mail/inbox', 'recovery/settle-killed'],
  },
  {
    name: 'the file of a delivered message stays in the inbox',
    place: 'mail/inbox.ts removeDelivered',
    edits: { 'if:1': 'void @test.arguments.0' },
    suites: ['mail/inbox', 'recovery/settle', 'recovery/settle-killed'],
  },
  {
    name: 'the state forgets delivered ids before their files are removed',
    place: 'mail/inbox.ts syncBeforeForgetting',
    edits: { 'expression:1': '' },
    suites: ['mail/inbox'],
  },
  {
    name: 'the state forgets delivered ids before the removal of their files is fsynced',
    place: 'mail/inbox.ts syncBeforeForgetting',
    edits: { 'expression:2': '' },
    suites: ['mail/inbox'],
  },
  {
    name: 'the removal of a message file is not fsynced',
    place: 'storage/maildir.ts syncMaildir',
    edits: { 'call:1': 'void @arguments.1' },
    suites: ['storage/maildir'],
  },
  {
    name: 'applying controls forgets delivered ids whose files still exist',
    place: 'dispatch/visit.ts applyControls',
    edits: { 'expression:1': '' },
    suites: ['dispatch/visit'],
  },
  {
    name: 'delivery to a turn forgets delivered ids whose files still exist',
    place: 'turn/append-step.ts syncBefore',
    edits: { 'if:1': '' },
    suites: ['dispatch/visit'],
  },
  {
    name: 'send --from does not fsync the removal of the reply that it printed',
    place: 'operations/send-as.ts takeReply',
    edits: { 'expression:2': '' },
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'the state forgets nearly all delivered ids at the limit',
    place: 'session/fold/mail.ts foldNoted',
    edits: { 'unary:1.argument': '1' },
    suites: ['session/fold/fold', 'session/fold/mail'],
  },
  {
    name: 'the state does not count the delivered ids that it forgot',
    place: 'session/fold/mail.ts foldNoted',
    edits: { 'binary:1': '@left.left' },
    suites: ['session/fold/mail'],
  },
  {
    name: 'a delivered message is stored again when the sender repeats it',
    place: 'mail/post.ts isKnown',
    edits: { 'if:1': '' },
    suites: ['mail/post'],
  },
  {
    name: "a repeated message is not searched for in the recipient's log",
    place: 'mail/post.ts isKnown',
    edits: { 'logical:1': '@left.left.left === null' },
    suites: ['mail/post'],
  },
  {
    name: 'a message replaces a stored message with the same id',
    place: 'host/disk/replace.ts createOnce',
    edits: {
      'expression:2':
        '@expression.right.callee.object.@{host/disk/io.ts rename|function:1.id}(@expression.right.arguments.0, @expression.right.arguments.1, @expression.right.arguments.2)\n@expression.left = true',
    },
    suites: ['host/disk/replace', 'storage/maildir'],
  },
  {
    name: 'a message that the operator took is stored again when the sender repeats it',
    place: 'storage/mailboxes.ts Mailboxes.put',
    edits: { 'logical:1': '@right' },
    suites: ['storage/mailboxes'],
  },
  {
    name: 'a message that the operator takes is deleted, not moved to taken/',
    place: 'storage/mailboxes.ts Mailboxes.take',
    edits: { 'call:3': "@callee.object.@{host/disk/io.ts unlink|function:1.id}('mail.take', @arguments.1)" },
    suites: ['storage/mailboxes'],
  },
  {
    name: 'terminate returns messages that were already delivered',
    place: 'mail/answers.ts returnMail',
    edits: { 'unary:1': '@argument !== null' },
    suites: ['mail/answers'],
  },
  {
    name: 'a reply gets a new id each time it is sent',
    place: 'mail/answers.ts replyId',
    edits: { 'call:1': "@callee(@arguments.0, 'response', String(Math.random()))" },
    suites: ['mail/answers'],
  },
  {
    name: 'an error gets a new id each time it is sent',
    place: 'mail/answers.ts idOf',
    edits: { 'call:3.arguments.0': 'Math.random()' },
    suites: ['mail/answers'],
  },
  {
    name: 'two errors about one request share an id',
    place: 'mail/answers.ts idOf',
    edits: { 'call:2': '@callee(@arguments.2, @arguments.3, @arguments.4)' },
    suites: ['mail/answers'],
  },
  {
    name: 'the error about an undelivered message gets a new id each time it is sent',
    place: 'mail/answers.ts tell',
    edits: { 'call:3.arguments.1': 'String(Math.random())' },
    suites: ['mail/answers'],
  },
  {
    name: 'a reminder gets a new message id each time it is read',
    place: 'mail/reminders.ts reminderMail',
    edits: { 'call:1.arguments.1': 'String(Math.random())' },
    suites: ['mail/inbox'],
  },
  {
    name: 'a repeating reminder has the same message id each time',
    place: 'mail/reminders.ts reminderMail',
    edits: { 'call:1.arguments.1': '' },
    suites: ['mail/inbox'],
  },
  {
    name: 'a repeated tool call sends a second message',
    place: 'turn/tools/tree/correspondence.ts sendFrom',
    edits: { 'call:1.arguments.1': 'String(Math.random())' },
    suites: ['turn/tools/await-reply', 'dispatch/tools-cut-short#is not sent again'],
  },
  {
    name: 'a repeated tool call counts as a first call',
    place: 'turn/tool-runs.ts ToolRuns.run',
    edits: { 'unary:2': '@argument.arguments.0 === null' },
    suites: ['turn/drive-tools#made again'],
  },
  {
    name: 'the result of a call lacks the delivery record of the reply',
    place: 'turn/step/calls.ts resultRecords',
    edits: { 'spreadElement:1': '' },
    suites: ['turn/step/step', 'turn/tools/await-reply', 'commands/tools-mail'],
  },
]
