/** Rule 9: unlinked files may come back, so every consumer deduplicates by id. */
import type { Mutant } from '../mutant.js'

export const DELIVERED_ONCE: Mutant[] = [
  {
    name: 'the fold accepts a second delivery of a message',
    edits: [
      [
        'if (next.delivered.includes(messageId)) throw new SessionStateError(`mail ${messageId} is delivered twice`)',
        ';',
      ],
    ],
    suites: ['session/fold/fold'],
  },
  {
    name: 'a delivered message whose file reappears is pending again',
    edits: [['!state.delivered.includes(id)', 'id !== null']],
    suites: ['mail/inbox'],
  },
  {
    name: 'messages are removed from the inbox before delivery',
    edits: [['if (session.state.delivered.includes(id)) session.removeMail(id)', 'session.removeMail(id)']],
    suites: ['recovery/settle', 'mail/inbox', 'recovery/settle-killed'],
  },
  {
    name: 'the file of a delivered message stays in the inbox',
    edits: [['if (session.state.delivered.includes(id)) session.removeMail(id)', 'void id']],
    suites: ['mail/inbox', 'recovery/settle', 'recovery/settle-killed'],
  },
  {
    name: 'the state forgets delivered ids before their files are removed',
    edits: [
      [
        `session.forgetMailIds()
         removeDelivered(session)`,
        'session.forgetMailIds()',
      ],
    ],
    suites: ['mail/inbox'],
  },
  {
    name: 'the state forgets delivered ids before the removal of their files is fsynced',
    edits: [['session.store.mail.syncRemovals(session.id)', ';']],
    suites: ['mail/inbox'],
  },
  {
    name: 'the removal of a message file is not fsynced',
    edits: [["io.syncDirectory('mail.sync_removals', directory)", 'void directory']],
    suites: ['storage/maildir'],
  },
  {
    name: 'applying controls forgets delivered ids whose files still exist',
    edits: [['syncBeforeForgetting(session, records.length)', ';']],
    suites: ['dispatch/visit'],
  },
  {
    name: 'delivery to a turn forgets delivered ids whose files still exist',
    edits: [['if (ids > 0) syncBeforeForgetting(session, ids)', ';']],
    suites: ['dispatch/visit'],
  },
  {
    name: 'send --from does not fsync the removal of the reply that it printed',
    edits: [['store.mail.syncRemovals(from.id)', ';']],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'the state forgets nearly all delivered ids at the limit',
    edits: [['-limits.deliveredIdsKeptMin', '-1']],
    suites: ['session/fold/fold', 'session/fold/mail'],
  },
  {
    name: 'the state does not count the delivered ids that it forgot',
    edits: [['next.delivered_forgotten + next.delivered.length - kept.length', 'next.delivered_forgotten']],
    suites: ['session/fold/mail'],
  },
  {
    name: 'a delivered message is stored again when the sender repeats it',
    edits: [['if (recipient.delivered.includes(messageId)) return true', ';']],
    suites: ['mail/post'],
  },
  {
    name: "a repeated message is not searched for in the recipient's log",
    edits: [
      [
        'options.isRepeat === true && recipient.delivered_forgotten > 0 && isInLog(store, recipient, messageId)',
        'options.isRepeat === null',
      ],
    ],
    suites: ['mail/post'],
  },
  {
    name: 'a message replaces a stored message with the same id',
    edits: [
      [
        'created = io.link(`${point}.link`, temp, path)',
        `io.rename(\`\${point}.link\`, temp, path)
         created = true`,
      ],
    ],
    suites: ['host/disk/replace', 'storage/maildir'],
  },
  {
    name: 'a message that the operator took is stored again when the sender repeats it',
    edits: [
      [
        '!this.isTaken(messageId) && maildir.putMessage(path, frame(message))',
        'maildir.putMessage(path, frame(message))',
      ],
    ],
    suites: ['storage/mailboxes'],
  },
  {
    name: 'a message that the operator takes is deleted, not moved to taken/',
    edits: [
      [
        "io.renameIfThere('mail.take', this.paths.operatorMail(messageId), this.paths.takenMail(messageId))",
        "io.unlink('mail.take', this.paths.operatorMail(messageId))",
      ],
    ],
    suites: ['storage/mailboxes'],
  },
  {
    name: 'terminate returns messages that were already delivered',
    edits: [['!isTaken && isAnswerable(message)', 'isTaken !== null && isAnswerable(message)']],
    suites: ['mail/answers'],
  },
  {
    name: 'a reply gets a new id each time it is sent',
    edits: [["deriveId(requestId, 'response')", "deriveId(requestId, 'response', String(Math.random()))"]],
    suites: ['mail/answers'],
  },
  {
    name: 'an error gets a new id each time it is sent',
    edits: [
      [
        "deriveId(run_id, String(seq), kind, to, reply_to ?? '')",
        "deriveId(run_id, String(Math.random()), kind, to, reply_to ?? '')",
      ],
    ],
    suites: ['mail/answers'],
  },
  {
    name: 'two errors about one request share an id',
    edits: [
      ["deriveId(run_id, String(seq), kind, to, reply_to ?? '')", "deriveId(kind, to, reply_to ?? '')"],
    ],
    suites: ['mail/answers'],
  },
  {
    name: 'the error about an undelivered message gets a new id each time it is sent',
    edits: [
      ["deriveId(message.message_id, 'undelivered')", 'deriveId(message.message_id, String(Math.random()))'],
    ],
    suites: ['mail/answers'],
  },
  {
    name: 'a reminder gets a new message id each time it is read',
    edits: [['deriveId(reminder_id, due_at)', 'deriveId(reminder_id, String(Math.random()))']],
    suites: ['mail/inbox'],
  },
  {
    name: 'a repeating reminder has the same message id each time',
    edits: [['deriveId(reminder_id, due_at)', 'deriveId(reminder_id)']],
    suites: ['mail/inbox'],
  },
  {
    name: 'a repeated tool call sends a second message',
    edits: [['deriveId(call.made_at, message.to)', 'deriveId(call.made_at, String(Math.random()))']],
    suites: ['turn/tools/await-reply', 'dispatch/tools-cut-short#is not sent again'],
  },
  {
    name: 'a repeated tool call counts as a first call',
    edits: [['!this.begun.has(call_id)', 'call_id === null']],
    suites: ['turn/drive-tools#made again'],
  },
  {
    name: 'the result of a call lacks the delivery record of the reply',
    edits: [['...(outcome.records ?? []),', '']],
    suites: ['turn/step/step', 'turn/tools/await-reply', 'commands/tools-mail'],
  },
]
