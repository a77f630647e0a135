/** A run has one end, a call has one result, and no transition happens from the wrong state. */
import type { Mutant } from '../mutant.js'

export const TRANSITIONS: Mutant[] = [
  {
    name: 'a log of an older format is written without its upgrade',
    edits: [['before === undefined || before.format === FORMAT || records.length === 0', 'true']],
    suites: ['commands/upgrade'],
  },
  {
    name: 'the totals of an older log are not counted when it is written',
    edits: [['loaded.state.usage !== null', 'true']],
    suites: ['commands/upgrade'],
  },
  {
    name: 'the fold applies a record of another run to the open run',
    edits: [['state.run.run_id !== runId', 'runId === null']],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts a second end of a run',
    edits: [["state.run === null || state.run.status !== 'open'", 'state.run === null']],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts a run that starts while another is open',
    edits: [
      [
        "if (next.run?.status === 'open') throw new SessionStateError('a run cannot start while another is open')",
        ';',
      ],
    ],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts a run in an inactive session',
    edits: [["next.state !== 'active'", 'next.state === null']],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts every transition of a session',
    edits: [['MOVES[next.state].includes(to)', 'MOVES[next.state]']],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts records after termination',
    edits: [["state.state === 'terminated' && !AFTER_THE_END.includes(record.kind)", 'state.state === null']],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts any first record',
    edits: [
      [
        `if (state === undefined) {
           if (record.kind !== 'session.created')`,
        `if (state === undefined) {
           if (record.kind === null)`,
      ],
    ],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts a second session.created',
    edits: [["throw new SessionStateError('the session is created twice')", 'return next']],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts the termination of a session with an open run',
    edits: [
      [
        `case 'session.terminated':
           if (next.run?.status === 'open')`,
        `case 'session.terminated':
           if (next.run === undefined)`,
      ],
    ],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts the termination of a session with a kept server',
    edits: [['if (next.warm !== undefined)', 'if (next.warm === null)']],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts the end of a server that is not kept',
    edits: [['warm?.server_id !== record.server_id', 'record.server_id === null']],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the fold accepts a reminder that is set twice',
    edits: [
      [
        'next.reminders.some((reminder) => reminder.reminder_id === reminder_id)',
        'next.reminders.some((reminder) => reminder.reminder_id === null)',
      ],
    ],
    suites: ['session/fold/mail'],
  },
  {
    name: 'the fold accepts two calls with one id',
    edits: [['new Set(calls.map(({ call_id }) => call_id)).size !== calls.length', 'calls === null']],
    suites: ['session/fold/turn'],
  },
  {
    name: 'the fold accepts a second start of a call',
    edits: [
      [
        "withCall(run, record.call_id, 'pending', (call) => ({ ...call, status: 'started', group }))",
        "withCall(run, record.call_id, undefined, (call) => ({ ...call, status: 'started', group }))",
      ],
    ],
    suites: ['session/fold/turn'],
  },
  {
    name: "the fold accepts a second start of a program's call",
    edits: [
      [
        'run.program_calls.some((call) => call.call_id === call_id)',
        'run.program_calls.some((call) => call.call_id === null)',
      ],
    ],
    suites: ['session/fold/turn'],
  },
  {
    name: 'the fold accepts a second result of a call',
    edits: [
      [
        "if (call?.status === 'finished') throw new SessionStateError(`the call ${record.call_id} has two results`)",
        'void call',
      ],
    ],
    suites: ['session/fold/turn'],
  },
  {
    name: 'the fold accepts a result without a call',
    edits: [['throw new SessionStateError(`there is no call ${callId} in run ${run.run_id}`)', 'return run']],
    suites: ['session/fold/turn'],
  },
  {
    name: 'a model is asked while a call has no result',
    edits: [['parkable.length > 0', 'parkable.length > 9']],
    suites: ['turn/drive-tools#parks the run', 'turn/step-properties'],
  },
  {
    name: 'a failed run leaves calls without results',
    edits: [["...withdrawnRecords(run, 'the turn failed first'),", '']],
    suites: ['turn/step/step', 'turn/step-properties'],
    equivalent:
      'only a request to a model or a program fails, and no request is made while a call has no result',
  },
  {
    name: 'a cancelled run leaves calls without results',
    edits: [
      [
        "withdrawnRecords(open, reason === 'turn_timeout' ? 'the turn timed out' : 'the turn was cancelled')",
        "withdrawnRecords({ ...open, calls: [] }, '')",
      ],
    ],
    suites: ['turn/step-properties', 'turn/drive-tools'],
  },
  {
    name: 'a superseded run leaves calls without results',
    edits: [["...withdrawnRecords(run, 'another message came first'),", '']],
    suites: ['turn/step-properties', 'turn/step/step'],
  },
  {
    name: 'calls of an interrupted run get no results before the next message',
    edits: [
      [
        "left === null ? [] : withdrawnRecords({ ...left, run_id: request.run_id }, 'another message came first')",
        '[]',
      ],
    ],
    suites: ['turn/step-properties', 'turn/prompt/history'],
  },
  {
    name: 'a tool that was stopped before it ran gets no result',
    edits: [['...notRun(run, result, policy),', '']],
    suites: ['turn/step/step'],
  },
  {
    name: 'a run may ask its model more often than the limit',
    edits: [['run.steps < stepsMax', 'run.steps < stepsMax + 50']],
    suites: ['turn/drive-tools#--max-steps', 'turn/step-properties'],
  },
  {
    name: 'a session stays active after its run ends',
    edits: [["[...records, { kind: 'session.suspended', reason: 'idle' }]", 'records']],
    suites: ['turn/step/step'],
  },
  {
    name: 'a tool runs without permission',
    edits: [
      [
        `kind === 'reads' ||
         kind === 'unknown' ||
         call.isApproved ||
         isAllowed(run.allow, call.tool, policy) ||
         policy.covers?.(run.allow, call.call_id) === true`,
        "kind === 'reads' !== null",
      ],
    ],
    suites: ['turn/drive-tools#parks the run'],
  },
  {
    name: 'a conversation is compacted repeatedly without new calls',
    edits: [
      [
        '!isCompacted || (calls_at?.seq ?? 0) > (compaction?.seq ?? 0)',
        'isCompacted !== null || calls_at === compaction',
      ],
    ],
    suites: ['turn/prompt/compact#because it is too long again'],
  },
  {
    name: 'the compacted conversation is adopted before the repeated request succeeded',
    edits: [
      ["{ kind: 'context.tried', run_id, ...summaryFields(shorter) }", 'adoptedRecord(run_id, shorter)'],
    ],
    suites: ['turn/prompt/compact#stays whole if the shorter ones are refused too'],
  },
  {
    name: 'a turn with the setting context=last:N begins with the whole conversation',
    edits: [['if (keeps_seq === undefined || keeps_offset === undefined) return {}', 'return {}']],
    suites: ['turn/prompt/context#last:2 has the two turns'],
  },
  {
    name: 'a continued turn begins a new conversation',
    edits: [['if (continues !== undefined) return {}\n  if (fresh === true)', 'if (fresh === true)']],
    suites: ['dispatch/context-killed'],
  },
]
