/** Mail: its order, its time, its turn, and who is told. */
import type { Mutant } from '../mutant.js'

export const MAIL: Mutant[] = [
  {
    name: 'mail of one sender has no order',
    file: 'mail/inbox.ts',
    from: 'return a.sequence - b.sequence || (a.message_id < b.message_id ? -1 : 1)',
    to: 'return a.message_id < b.message_id ? -1 : 1',
    suites: ['mail/inbox'],
  },
  {
    name: 'messages of one sender have one place',
    file: 'mail/post.ts',
    from: 'return Math.min(highest + 1, Number.MAX_SAFE_INTEGER)',
    to: 'return Math.min(highest, 1)',
    suites: ['mail/post'],
  },
  {
    name: 'mail overtakes a request of its own sender',
    file: 'mail/inbox.ts',
    from: '    if (held.has(message.from)) continue\n',
    to: `    if (message.kind === 'request') continue\n`,
    suites: ['mail/inbox'],
  },
  {
    name: 'a request is taken together with other mail',
    file: 'mail/inbox.ts',
    from: `if (first === undefined || hasTurnAlone(first)) return first === undefined ? [] : readAll([first])`,
    to: 'if (first === undefined) return []',
    suites: ['mail/inbox'],
  },
  {
    name: 'a message with a key is taken together with other mail',
    file: 'mail/inbox.ts',
    from: `return kind === 'request' || key !== null`,
    to: `return kind === 'request'`,
    suites: ['mail/inbox', 'dispatch/acknowledged'],
  },
  {
    name: 'a flood of notices keeps a request from its turn',
    file: 'mail/inbox.ts',
    from: '  if (request !== undefined) return readAll([request])\n',
    to: '',
    suites: ['mail/inbox'],
  },
  {
    name: 'any number of messages is taken at once',
    file: 'mail/inbox.ts',
    from: 'taken.length === limits.mailsTakenMax || bytes > limits.mailsTakenBytesMax',
    to: 'bytes > limits.mailsTakenBytesMax',
    suites: ['mail/inbox'],
  },
  {
    name: 'messages of any size are taken at once',
    file: 'mail/inbox.ts',
    from: 'taken.length === limits.mailsTakenMax || bytes > limits.mailsTakenBytesMax',
    to: 'taken.length === limits.mailsTakenMax',
    suites: ['mail/inbox'],
  },
  {
    name: 'mail for a time is delivered before it',
    file: 'mail/inbox.ts',
    from: 'return not_before === null || isOver(not_before, clock, now)',
    to: 'return not_before !== now.at',
    suites: ['mail/inbox'],
  },
  {
    name: 'a reminder that repeats rings without end in a command',
    file: 'mail/inbox.ts',
    from: 'return isOver(due_at, began, now) && (every_ms === null || due_at <= new Date(clock.beganAt).toISOString())',
    to: 'return isOver(due_at, began, now) && every_ms !== undefined',
    suites: ['mail/inbox'],
  },
  {
    name: 'a reminder rings before its time',
    file: 'mail/inbox.ts',
    from: 'return isOver(due_at, began, now) && (every_ms',
    to: 'return (every_ms',
    suites: ['mail/inbox'],
  },
  {
    name: 'what is asked of an agent is shown to its model',
    file: 'mail/inbox.ts',
    from: `for (const message of eachMessage(store, state)) if (message.kind !== 'control') yield message`,
    to: 'for (const message of eachMessage(store, state)) yield message',
    suites: ['mail/inbox'],
  },
  {
    name: 'mail that was forged for another is delivered',
    file: 'mail/inbox.ts',
    from: 'return message?.to === to ? message : undefined',
    to: 'return message',
    suites: ['mail/inbox'],
  },
  {
    name: 'mail of another id than its name says is delivered',
    file: 'mail/message.ts',
    from: 'return message.message_id === messageId && isWhole(message) ? message : undefined',
    to: 'return isWhole(message) ? message : undefined',
    suites: ['mail/message'],
  },
  {
    name: 'mail that no record takes is delivered',
    file: 'mail/message.ts',
    from: 'return message.message_id === messageId && isWhole(message) ? message : undefined',
    to: 'return message.message_id === messageId ? message : undefined',
    suites: ['mail/message'],
  },
  {
    name: 'mail of any size is read',
    file: 'storage/maildir.ts',
    from: `facts.kind === 'file' && facts.sizeBytes <= limits.mailFileBytesMax`,
    to: `facts.kind === 'file'`,
    suites: ['storage/mailboxes', 'mail/inbox'],
  },
  {
    name: 'mail to the dead is stored',
    file: 'mail/post.ts',
    from: `if (before === undefined || before.state === 'terminated') throw undeliverable(store, draft)`,
    to: 'if (before === undefined) throw undeliverable(store, draft)',
    suites: ['mail/post'],
  },
  {
    name: 'mail that is stored while its recipient ends is acknowledged',
    file: 'mail/post.ts',
    from: '  if (isNew && isClosed(store, to) && takeBack(store, draft)) throw undeliverable(store, draft)\n',
    to: '',
    suites: ['mail/post'],
  },
  {
    name: 'a sender is refused before what it took back is gone for good',
    file: 'mail/post.ts',
    from: '  store.mail.syncRemovals(to)\n',
    to: '',
    suites: ['mail/post'],
  },
  {
    name: 'a sender that repeats itself takes back what is on its way to it',
    file: 'mail/post.ts',
    from: 'return !store.mail.idsToReturn(to).includes(message_id)',
    to: 'return true',
    suites: ['mail/post'],
  },
  {
    name: 'mail to a terminated agent is answered while its sender can take it back',
    file: 'mail/answers.ts',
    from: `    if (!isTaken && isAnswerable(message)) store.mail.setToReturn(state.id, message.message_id)
    else store.mail.remove(state.id, message.message_id)
  }
  const told: string[] = []
`,
    to: `    if (!isTaken && isAnswerable(message)) tell(store, state, message, note)
    store.mail.remove(state.id, message.message_id)
  }
  const told: string[] = []
`,
    suites: ['mail/answers'],
  },
  {
    name: 'mail on its way back is owed to nobody',
    file: 'dispatch/owed.ts',
    from: ' || mail.idsToReturn(state.id).length > 0',
    to: '',
    suites: ['mail/answers'],
  },
  {
    name: 'an inbox takes any number of messages',
    file: 'mail/post.ts',
    from: '  if (isBounded(draft)) checkRoom(store, before, message_id)\n',
    to: '',
    suites: ['mail/post'],
  },
  {
    name: 'a full inbox takes no reply',
    file: 'mail/post.ts',
    from: '  if (isBounded(draft)) checkRoom(store, before, message_id)\n',
    to: '  checkRoom(store, before, message_id)\n',
    suites: ['mail/post'],
  },
  {
    name: 'a request is answered by none of the runs that end',
    file: 'session/fold/mail.ts',
    from: '{ ...next, owes: [...next.owes, ...answers, ...reports] }',
    to: '{ ...next, owes: [...next.owes, ...reports] }',
    suites: ['session/fold/mail'],
  },
  {
    name: 'a parent is not told of the trouble of its child',
    file: 'session/fold/mail.ts',
    from: '{ ...next, owes: [...next.owes, ...answers, ...reports] }',
    to: '{ ...next, owes: [...next.owes, ...answers] }',
    suites: ['session/fold/mail'],
  },
  {
    name: 'answers to answers have no end',
    file: 'mail/answers.ts',
    from: `return kind === 'request' || kind === 'notification'`,
    to: `return kind !== 'control'`,
    suites: ['mail/answers'],
  },
  {
    name: 'a gated agent takes a turn without a permit',
    file: 'dispatch/go-on.ts',
    from: 'return gate.isGated && gate.permits === 0',
    to: 'return gate.isGated && gate.permits < 0',
    suites: ['dispatch/deliveries'],
  },
  {
    name: 'a permit lets a gated agent take any number of turns',
    file: 'session/fold/run.ts',
    from: 'isGated ? Math.max(0, permits - 1) : 0',
    to: 'isGated ? permits : 0',
    suites: ['session/fold/mail'],
  },
  {
    name: 'after a turn nobody looks at the inbox again',
    file: 'dispatch/visit.ts',
    from: 'if (looksAgain && hadTurn && !wasStopped(session.state.run as Run)) ctx.deliveries.lookAgain(session.id)',
    to: 'void [looksAgain, wasStopped]',
    suites: ['dispatch/deliveries'],
  },
  {
    name: 'the inbox is looked at before the lock is released, not after',
    file: 'dispatch/visit.ts',
    from: '    await session.close((state) => isOwed(ctx.store, state))\n    return result',
    to: `    ctx.deliveries.lookAgain(session.id)
    ctx.deliveries.lookAgain = () => undefined
    await session.close((state) => isOwed(ctx.store, state))
    return result`,
    suites: ['dispatch/visit'],
  },
  {
    name: 'what was asked of an agent is not obeyed',
    file: 'dispatch/visit.ts',
    from: '    obey(session)\n    return work',
    to: '    return work',
    suites: ['dispatch/deliveries', 'dispatch/visit'],
  },
  {
    name: 'what a dead process owed is not sent',
    file: 'dispatch/visit.ts',
    from: '    if (!options.goesOn || !isInterrupted(session.state)) await settleAccounts(ctx, session, true)\n',
    to: '',
    suites: ['dispatch/visit', 'dispatch/recovering'],
  },
  {
    name: 'what a turn owes is not sent with its end',
    file: 'dispatch/visit.ts',
    from: '    const result = await work()\n    await settleAccounts(ctx, session, true)\n',
    to: '    const result = await work()\n',
    suites: ['dispatch/visit'],
  },
]
