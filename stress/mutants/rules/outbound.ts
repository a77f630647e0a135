/** Outbound messages and channels: queued once, sent in order, dropped by rules only. */
import type { Mutant } from '../mutant.js'

export const OUTBOUND: Mutant[] = [
  {
    name: 'the fold accepts an outbound message that is queued twice',
    edits: [
      [
        `if (before.some((entry) => entry.outbound_id === outbound_id))
         throw new SessionStateError(\`outbound message \${outbound_id} is queued twice\`)`,
        ';',
      ],
    ],
    suites: ['session/fold/outbound'],
  },
  {
    name: 'a late result of an earlier attempt counts as a new attempt',
    edits: [['entry.outbound_id === id && entry.attempts < record.attempt', 'entry.outbound_id === id']],
    suites: ['session/fold/outbound'],
  },
  {
    name: 'a report of an interruption is sent although the turn was continued',
    edits: [
      [
        "for (const entry of continuedBy(record, pending)) drop(entry, 'superseded', 'the turn was continued')",
        ';',
      ],
    ],
    suites: ['session/outbound'],
  },
  {
    name: 'a rotated token queues another notification of the same wait',
    edits: [['if (run?.run_id === record.run_id && run.wait !== null) return undefined', ';']],
    suites: ['session/outbound'],
  },
  {
    name: 'the queue of outbound messages has no bound',
    edits: [
      [
        `if (oldest !== undefined && queue.length >= limits.outboundMax)
         drop(oldest, 'queue_full', \`\${limits.outboundMax} newer messages are pending\`)`,
        ';',
      ],
    ],
    suites: ['outbound/dropped#100 newer'],
  },
  {
    name: 'a message whose time is over is still sent',
    edits: [['if (expires_at === null || expires_at > now.at) return undefined', 'return undefined']],
    suites: ['outbound/dropped#after its time'],
  },
  {
    name: 'a message is tried without end',
    edits: [
      [
        `if (attempts + 1 >= triesMax || unknownAttempts(after) >= UNKNOWN_ATTEMPTS_MAX)
         return dropped(after, 'attempts', why)`,
        ';',
      ],
    ],
    suites: ['outbound/rules'],
  },
  {
    name: 'the pause that a target asks for is not kept',
    edits: [['not_before === null || isOver(not_before, clock, now)', 'not_before === null || true']],
    suites: ['outbound/sender#longer pause'],
  },
  {
    name: 'an attempt that was cut off counts as sent',
    edits: [
      [
        "if (signal.aborted) return { outcome: 'unknown' }",
        "if (signal.aborted) return { outcome: 'accepted' }",
      ],
    ],
    suites: ['outbound/sender#cut off'],
  },
  {
    name: 'a target that refuses is tried again',
    edits: [["if (status < 500 && !TRY_AGAIN.includes(status)) return { outcome: 'refused', why }", ';']],
    suites: ['outbound/sender#dropped at once'],
  },
  {
    name: 'a message overtakes the one before it',
    edits: [
      ['if (this.isOver || !this.mayTry(entry)) return', 'if (this.isOver || !this.mayTry(entry)) break'],
    ],
    suites: ['outbound/sender#waits behind'],
  },
  {
    name: 'a result that was handed over is ignored by the next sender',
    edits: [
      [
        `for (const { control } of messagesIn(store, state.id))
         if (control?.verb === 'outbound') entries = entriesAfter(entries, control.result)`,
        ';',
      ],
    ],
    suites: ['outbound/sender#handed over'],
  },
  {
    name: 'a message of a stranger is passed on',
    edits: [
      [
        `if (!includesPerson(senders, message.sender)) {
           ignored.push(message.sender)
           continue
         }`,
        ';',
      ],
    ],
    suites: ['channel/run#not in senders'],
  },
  {
    name: 'a message that the platform delivers again is recorded again',
    edits: [['if (known.has(message_id)) continue', ';']],
    suites: ['channel/run#delivers it again'],
  },
  {
    name: 'anyone in a thread approves',
    edits: [["if (!isApprover) return { outcome: 'refused', says: [NOT_APPROVER_TEXT] }", ';']],
    suites: ['channel/run#not in approvers'],
  },
  {
    name: 'an old code approves',
    edits: [
      [
        `if (!isGood || wait.kind !== 'approval' || code !== codeOf(agentId, wait))
         return { outcome: 'refused', says: [staleCodeText(code, decidedText(ctx, state))] }`,
        ';',
      ],
    ],
    suites: ['channel/run#an old code'],
  },
]
