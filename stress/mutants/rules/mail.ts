/** Mail: its order, its delivery time, its turn, and its notices. */
import type { Mutant } from '../mutant.js'

export const MAIL: Mutant[] = [
  {
    name: 'the messages of one sender have no order',
    edits: [
      [
        'a.sequence - b.sequence || (a.message_id < b.message_id ? -1 : 1)',
        'a.message_id < b.message_id ? -1 : 1',
      ],
    ],
    suites: ['mail/inbox'],
  },
  {
    name: 'all messages of one sender get the same sequence',
    edits: [['Math.min(highest + 1, Number.MAX_SAFE_INTEGER)', 'Math.min(highest, 1)']],
    suites: ['mail/post'],
  },
  {
    name: 'a message overtakes an earlier keyed message of its sender',
    edits: [['held.has(message.from)', "(message).kind === 'request'"]],
    suites: ['mail/inbox'],
  },
  {
    name: 'a request shares its turn with other messages',
    edits: [
      ['among === undefined ? all : all.filter(({ message_id }) => among.has(message_id))', '[]'],
      ['first === undefined || first.isAlone', 'first === undefined'],
    ],
    suites: ['mail/inbox'],
  },
  {
    name: 'a message with a key shares its turn with other messages',
    edits: [["mail.kind === 'request' || mail.key !== null", "mail.kind === 'request'"]],
    suites: ['mail/inbox', 'dispatch/acknowledged'],
  },
  {
    name: 'a message with an option shares its turn with other messages',
    edits: [
      [
        "mail.kind === 'request' || mail.key !== null || 'schedule_id' in mail || hasOwnOptions(mail)",
        "mail.kind === 'request' || mail.key !== null || 'schedule_id' in mail",
      ],
    ],
    suites: ['mail/inbox'],
  },
  {
    name: 'a flood of notifications starves a request',
    edits: [['if (request !== undefined) return readAll([request])', ';']],
    suites: ['mail/inbox'],
  },
  {
    name: 'one turn receives any number of messages',
    edits: [
      [
        'taken.length === limits.mailsTakenMax || bytes > limits.mailsTakenBytesMax',
        'bytes > limits.mailsTakenBytesMax',
      ],
    ],
    suites: ['mail/inbox'],
  },
  {
    name: 'one turn receives messages of any total size',
    edits: [
      [
        'taken.length === limits.mailsTakenMax || bytes > limits.mailsTakenBytesMax',
        'taken.length === limits.mailsTakenMax',
      ],
    ],
    suites: ['mail/inbox'],
  },
  {
    name: 'a delayed message is delivered before its time',
    edits: [['not_before === null || isOver(not_before, clock, now())', 'true']],
    suites: ['mail/inbox'],
  },
  {
    name: 'a repeating reminder is delivered again and again in one command',
    edits: [
      ['every_ms === null || due_at <= new Date(clock.beganAt).toISOString()', 'every_ms !== undefined'],
    ],
    suites: ['mail/inbox'],
  },
  {
    name: 'a reminder is delivered before its time',
    edits: [
      [
        'isOver(due_at, began, now) && (every_ms === null || due_at <= new Date(clock.beganAt).toISOString())',
        'every_ms === null || due_at <= new Date(clock.beganAt).toISOString()',
      ],
    ],
    suites: ['mail/inbox'],
  },
  {
    name: 'a control is shown to the model',
    edits: [["if (message.kind !== 'control') yield message", 'yield message']],
    suites: ['mail/inbox'],
  },
  {
    name: 'a forged message addressed to another agent is delivered',
    edits: [['message?.to === to ? message : undefined', 'message']],
    suites: ['mail/inbox'],
  },
  {
    name: 'a message whose id differs from its file name is delivered',
    edits: [['message.message_id === messageId && isWhole(message)', 'isWhole(message)']],
    suites: ['mail/message'],
  },
  {
    name: 'a malformed message is delivered',
    edits: [['message.message_id === messageId && isWhole(message)', 'message.message_id === messageId']],
    suites: ['mail/message'],
  },
  {
    name: 'a message of any size is read',
    edits: [["kind === 'file' && sizeBytes <= limits.mailFileBytesMax", "kind === 'file'"]],
    suites: ['storage/mailboxes', 'mail/inbox'],
  },
  {
    name: 'a message file of another user is read',
    edits: [
      [
        "kind === 'file' && sizeBytes <= limits.mailFileBytesMax && isTrustedFile({ uid, gid, mode })",
        "kind === 'file' && sizeBytes <= limits.mailFileBytesMax",
      ],
    ],
    suites: ['storage/home-trust'],
  },
  {
    name: 'a message to a terminated agent is stored',
    edits: [
      ['before !== undefined && isKnown(store, before.state, message_id, options)', 'before !== undefined'],
    ],
    suites: ['mail/post'],
  },
  {
    name: 'a message stored while its recipient is terminated is acknowledged',
    edits: [
      [
        'if (isNew && isClosed(store, to) && takeBack(store, draft)) throw undeliverableError(store, draft)',
        ';',
      ],
    ],
    suites: ['mail/post'],
  },
  {
    name: 'the sender gets an error before the removal of its message is fsynced',
    edits: [['store.mail.syncRemovals(to)', ';']],
    suites: ['mail/post'],
  },
  {
    name: 'a repeated send is refused although a copy of the message is being returned',
    edits: [['!store.mail.idsToReturn(to).includes(message_id)', 'true']],
    suites: ['mail/post'],
  },
  {
    name: 'a message to a terminated agent is answered while its sender can still remove it',
    edits: [
      [
        `store.mail.setToReturn(state.id, message.message_id)
         else store.mail.remove(state.id, message.message_id)`,
        `tell(store, state, message, note)
         store.mail.remove(state.id, message.message_id)`,
      ],
    ],
    suites: ['mail/answers'],
  },
  {
    name: 'an agent needs no visit for messages that it must return',
    edits: [["state.state === 'terminated' && store.mail.idsToReturn(state.id).length > 0", 'false']],
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an inbox accepts any number of messages',
    edits: [['if (isBounded(draft)) checkRoom(before, message_id)', ';']],
    suites: ['mail/post'],
  },
  {
    name: 'a full inbox refuses replies',
    edits: [['if (isBounded(draft)) checkRoom(before, message_id)', 'checkRoom(before, message_id)']],
    suites: ['mail/post'],
  },
  {
    name: 'the end of a run sends no answers',
    edits: [['...answers,', '']],
    suites: ['session/fold/mail'],
  },
  {
    name: 'a parent gets no report about its child',
    edits: [[', ...reports', '']],
    suites: ['session/fold/mail'],
  },
  {
    name: 'answers to a terminated agent are answered',
    edits: [
      [
        `function isAnswerable({ kind }: Message): boolean {
         return kind === 'request' || kind === 'notification'`,
        `function isAnswerable({ kind }: Message): boolean {
         return kind !== 'control'`,
      ],
    ],
    suites: ['mail/answers'],
  },
  {
    name: 'a gated agent takes a turn without a permit',
    edits: [['return gate.isGated && gate.permits === 0', 'return gate.isGated && gate.permits < 0']],
    suites: ['dispatch/turn-obstacle', 'dispatch/deliveries'],
  },
  {
    name: 'a permit lets a gated agent take any number of turns',
    edits: [['Math.max(0, permits - 1)', 'permits']],
    suites: ['session/fold/mail'],
  },
  {
    name: 'the inbox is not checked again after a turn',
    edits: [
      [
        'recheckInbox && (session.yields || (hadTurn && !wasStopped(session.state.run as Run)))',
        'false && (recheckInbox && (session.yields || (hadTurn && !wasStopped(session.state.run as Run))))',
      ],
    ],
    suites: ['dispatch/deliveries'],
  },
  {
    name: 'the inbox is checked again before the lock is released, not after',
    edits: [
      [
        `session.appendLast(restRecords(session.state, 'idle'))
         await session.close((state) => needsVisit(ctx.store, state))
         return result`,
        `session.appendLast(restRecords(session.state, 'idle'))
             ;((ctx, session) => {
         ctx.deliveries.lookAgain(session.id, session.state)
         ctx.deliveries.lookAgain = () => undefined
         })(ctx, session)
         await session.close((state) => needsVisit(ctx.store, state))
             return result`,
      ],
    ],
    suites: ['dispatch/visit'],
  },
  {
    name: 'an agent that was woken during its visit is not looked at after it',
    edits: [['if (this.again.delete(agentId)) this.lookAgain(agentId)', ';']],
    suites: ['dispatch/deliveries'],
  },
  {
    name: 'the inbox is not checked after a command without a turn',
    edits: [['if (this.outcome?.wasStopped !== true) deliveries.wakeIfPending(this.agentId)', ';']],
    suites: ['dispatch/deliveries'],
  },
  {
    name: 'a visit does not apply controls',
    edits: [
      [
        `applyControls(session)
         return work(session, settled)`,
        'return work(session, settled)',
      ],
    ],
    suites: ['dispatch/deliveries', 'dispatch/visit'],
  },
  {
    name: 'a visit does not send the outbox that a dead process left',
    edits: [
      [
        'if (!options.continuesTurn || !isInterrupted(session.state)) await flushOutbox(ctx, session, true)',
        ';',
      ],
    ],
    suites: ['dispatch/visit', 'dispatch/recovering'],
  },
  {
    name: 'the outbox of a turn is not sent when the visit ends',
    edits: [
      [
        `const result = await work()
         await flushOutbox(ctx, session, true)`,
        'const result = await work()',
      ],
    ],
    suites: ['dispatch/visit'],
  },
  {
    name: 'the due time of mail is compared with the time in the log',
    edits: [
      [
        `export function nextMail(session: Session, among?: ReadonlySet<string>): Delivery[] {
         const now = clockOfLook()`,
        `export function nextMail(session: Session, among?: ReadonlySet<string>): Delivery[] {
         const now = { ...clockOfLook(), at: [(clockOfLook()).at, (session.state).updated_at].sort()[1] as string }`,
      ],
    ],
    suites: ['mail/inbox', 'dispatch/clock-ahead'],
  },
  {
    name: 'a queued message overtakes a command that waits longer',
    edits: [
      ['!stalled.has(agentId) && store.waits.arrivals(agentId).some((since) => since < time)', 'false'],
    ],
    suites: ['commands/order'],
  },
]
