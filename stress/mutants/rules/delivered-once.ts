/** Rule 9: unlinked files may come back, so every consumer deduplicates by id. */
import type { Mutant } from '../mutant.js'

export const DELIVERED_ONCE: Mutant[] = [
  {
    name: 'a message is delivered twice',
    place: 'session/fold/mail.ts foldNoted',
    edits: { 'if:1': '' },
    suites: ['session/fold/fold'],
  },
  {
    name: 'a file of delivered mail that reappears is pending',
    place: 'mail/inbox.ts pendingIds',
    edits: { 'unary:1': '@argument.arguments.0 !== @call:1.arguments.0' },
    suites: ['mail/inbox'],
  },
  {
    name: 'mail leaves the inbox without being delivered',
    place: 'mail/inbox.ts removeDelivered',
    edits: { 'if:1': '@consequent' },
    suites: ['recovery/settle', 'mail/inbox'],
  },
  {
    name: 'delivered mail stays in the inbox',
    place: 'mail/inbox.ts removeDelivered',
    edits: { 'if:1': 'void @test.arguments.0' },
    suites: ['mail/inbox', 'recovery/settle'],
  },
  {
    name: 'ids are forgotten before their files are removed',
    place: 'mail/inbox.ts syncBeforeForgetting',
    edits: { 'expression:1': '' },
    suites: ['mail/inbox'],
  },
  {
    name: 'ids are forgotten before the removal of their files is synced',
    place: 'mail/inbox.ts syncBeforeForgetting',
    edits: { 'expression:2': '' },
    suites: ['mail/inbox'],
  },
  {
    name: 'the removal of mail is not synced',
    place: 'storage/maildir.ts syncMaildir',
    edits: { 'call:1': 'void @arguments.1' },
    suites: ['storage/maildir'],
  },
  {
    name: 'a control may forget ids whose files still exist',
    place: 'dispatch/visit.ts applyControls',
    edits: { 'expression:1': '' },
    suites: ['dispatch/visit'],
  },
  {
    name: 'the mail of a turn may forget ids whose files still exist',
    place: 'turn/drive.ts Turn.persist',
    edits: { 'if:2': '' },
    suites: ['dispatch/visit'],
  },
  {
    name: 'a reply that a command has printed may come back',
    place: 'operations/send-as.ts converse',
    edits: { 'expression:5': '' },
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'more ids are forgotten than exceed the limit',
    place: 'session/fold/mail.ts foldNoted',
    edits: { 'unary:1.argument': '1' },
    suites: ['session/fold/fold', 'session/fold/mail'],
  },
  {
    name: 'the number of forgotten ids is not stored',
    place: 'session/fold/mail.ts foldNoted',
    edits: { 'binary:1': '@left.left' },
    suites: ['session/fold/mail'],
  },
  {
    name: 'a message that was delivered is stored again',
    place: 'mail/post.ts isKnown',
    edits: { 'if:1': '' },
    suites: ['mail/post'],
  },
  {
    name: 'a repeated message is not looked up in the log',
    place: 'mail/post.ts isKnown',
    edits: { 'logical:1': '@left.left.left === null' },
    suites: ['mail/post'],
  },
  {
    name: 'a message of the same id takes the place of the stored one',
    place: 'host/disk/replace.ts createOnce',
    edits: {
      'expression:2':
        '@expression.right.callee.object.@{host/disk/io.ts rename|function:1.id}(@expression.right.arguments.0, @expression.right.arguments.1, @expression.right.arguments.2)\n@expression.left = true',
    },
    suites: ['host/disk/replace', 'storage/maildir'],
  },
  {
    name: 'mail that the operator took is stored again',
    place: 'storage/mailboxes.ts Mailboxes.put',
    edits: { 'if:1': '' },
    suites: ['storage/mailboxes'],
  },
  {
    name: 'mail that the operator takes is forgotten',
    place: 'storage/mailboxes.ts Mailboxes.take',
    edits: { 'call:3': "@callee.object.@{host/disk/io.ts unlink|function:1.id}('mail.take', @arguments.1)" },
    suites: ['storage/mailboxes'],
  },
  {
    name: 'mail that was taken is sent back by the end of its agent',
    place: 'mail/answers.ts returnMail',
    edits: { 'unary:1': '@argument !== null' },
    suites: ['mail/answers'],
  },
  {
    name: 'a reply has another id each time that it is sent',
    place: 'mail/answers.ts replyId',
    edits: { 'call:1': "@callee(@arguments.0, 'response', String(Math.random()))" },
    suites: ['mail/answers'],
  },
  {
    name: 'an error has another id each time that it is sent',
    place: 'mail/answers.ts idOf',
    edits: { 'call:3.arguments.0': 'Math.random()' },
    suites: ['mail/answers'],
  },
  {
    name: 'two errors about one request have one id',
    place: 'mail/answers.ts idOf',
    edits: { 'call:2': '@callee(@arguments.2, @arguments.3, @arguments.4)' },
    suites: ['mail/answers'],
  },
  {
    name: 'what a terminated agent sends back has another id each time',
    place: 'mail/answers.ts tell',
    edits: { 'call:2.arguments.1': 'String(Math.random())' },
    suites: ['mail/answers'],
  },
  {
    name: 'a reminder has another id each time that it is looked at',
    place: 'mail/reminders.ts reminderMail',
    edits: { 'call:1.arguments.1': 'String(Math.random())' },
    suites: ['mail/inbox'],
  },
  {
    name: 'a reminder rings by one id for ever',
    place: 'mail/reminders.ts reminderMail',
    edits: { 'call:1.arguments.1': '' },
    suites: ['mail/inbox'],
  },
  {
    name: 'a call that is made again sends another message',
    place: 'turn/tools/tree/correspondence.ts sendFrom',
    edits: { 'call:1.arguments.1': 'String(Math.random())' },
    suites: ['turn/tools/await-reply', 'dispatch/tools-cut-short#is not sent again'],
  },
  {
    name: 'a call that is made again is not known for one',
    place: 'turn/tool-runs.ts ToolRuns.run',
    edits: { 'unary:2': '@argument.arguments.0 === null' },
    suites: ['turn/drive-tools#made again'],
  },
  {
    name: 'the reply to a call is delivered apart from its result',
    place: 'turn/step/calls.ts resultRecords',
    edits: { 'spreadElement:1': '' },
    suites: ['turn/step/step', 'turn/tools/await-reply', 'commands/tools-mail'],
  },
]
