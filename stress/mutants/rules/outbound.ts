/** Outbound messages and channels: queued once, sent in order, dropped by rules only. */
import type { Mutant } from '../mutant.js'

export const OUTBOUND: Mutant[] = [
  {
    name: 'the fold accepts an outbound message that is queued twice',
    place: 'session/fold/outbound.ts outboundQueued',
    edits: { 'if:1': '' },
    suites: ['session/fold/outbound'],
  },
  {
    name: 'a late result of an earlier attempt counts as a new attempt',
    place: 'session/fold/outbound.ts entriesAfter',
    edits: { 'logical:1': '@left' },
    suites: ['session/fold/outbound'],
  },
  {
    name: 'a report of an interruption is sent although the turn was continued',
    place: 'session/outbound.ts withOutbound',
    edits: { 'forOf:2': '' },
    suites: ['session/outbound'],
  },
  {
    name: 'a rotated token queues another notification of the same wait',
    place: 'session/outbound.ts eventOf',
    edits: { 'if:1': '' },
    suites: ['session/outbound'],
  },
  {
    name: 'the queue of outbound messages has no bound',
    place: 'session/outbound.ts withOutbound',
    edits: { 'if:2': '' },
    suites: ['outbound/dropped#100 newer'],
  },
  {
    name: 'a message whose time is over is still sent',
    place: 'outbound/plan.ts expiry',
    edits: { 'if:2': 'return undefined' },
    suites: ['outbound/dropped#after its time'],
  },
  {
    name: 'a message is tried without end',
    place: 'outbound/plan.ts resultOf',
    edits: { 'if:1': '' },
    suites: ['outbound/rules'],
  },
  {
    name: 'the pause that a target asks for is not kept',
    place: 'outbound/plan.ts pauseBefore',
    edits: { 'logical:1': '@left || true' },
    suites: ['outbound/sender#longer pause'],
  },
  {
    name: 'an attempt that was cut off counts as sent',
    place: 'outbound/http.ts postOnce',
    edits: { 'if:1.consequent.argument.properties.0.value': "'accepted'" },
    suites: ['outbound/sender#cut off'],
  },
  {
    name: 'a target that refuses is tried again',
    place: 'outbound/http.ts answer',
    edits: { 'if:2': '' },
    suites: ['outbound/sender#dropped at once'],
  },
  {
    name: 'a message overtakes the one before it',
    place: 'outbound/sender.ts AgentSender.sendQueue',
    edits: { 'if:1.consequent': 'break' },
    suites: ['outbound/sender#waits behind'],
  },
  {
    name: 'a result that was handed over is ignored by the next sender',
    place: 'outbound/results.ts pendingEntries',
    edits: { 'forOf:1': '' },
    suites: ['outbound/sender#handed over'],
  },
  {
    name: 'a message of a stranger is passed on',
    place: 'channel/incoming.ts recordMessages',
    edits: { 'if:2': '' },
    suites: ['channel/run#not in senders'],
  },
  {
    name: 'a message that the platform delivers again is recorded again',
    place: 'channel/incoming.ts recordMessages',
    edits: { 'if:1': '' },
    suites: ['channel/run#delivers it again'],
  },
  {
    name: 'anyone in a thread approves',
    place: 'channel/incoming.ts route',
    edits: { 'if:7': '' },
    suites: ['channel/run#not in approvers'],
  },
  {
    name: 'an old code approves',
    place: 'channel/incoming.ts route',
    edits: { 'if:8': '' },
    suites: ['channel/run#an old code'],
  },
]
