/** The action of recovery for each row, and the rows it leaves to others. */
import type { Mutant } from '../mutant.js'

export const SETTLING: Mutant[] = [
  {
    name: 'recovery does not suspend a session without a holder',
    edits: [["session.append(restRecords(session.state, 'recovery'))", ';']],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'an interrupted run gets no run.interrupted record',
    edits: [['interruption(run, reason, used)', '']],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'an interrupted run gets no status.derived record',
    edits: [['status === known', 'true']],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a reboot counts as the death of a process',
    edits: [
      [
        "place === 'past' ? 'process_restart' : 'process_exit'",
        "place === '' ? 'process_restart' : 'process_exit'",
      ],
    ],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a turn that the caller does not continue stays open',
    edits: [['facts.continuesTurn && !facts.hasSurvivor ? [] : interruptedBy(run, facts)', '[]']],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a turn continues beside a program that may still run',
    edits: [['facts.continuesTurn && !facts.hasSurvivor', 'facts.continuesTurn']],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-programs', 'recovery/settle-killed'],
  },
  {
    name: 'a program that may still run is not recorded as the reason',
    edits: [
      [
        "hasSurvivor ? [interruption(run, 'program_alive')] : interruptedRecords(run, used)",
        'hasSurvivor === null ? [] : interruptedRecords(run, used)',
      ],
    ],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-programs', 'recovery/settle-killed'],
  },
  {
    name: 'an ended wait leaves its token valid',
    edits: [['...expiredRecords(state, run),', '']],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a tool with an unknown outcome runs again',
    edits: [
      [
        "call.status === 'started' && !isLeftToTurn(policy, call)",
        'call.status === null && !isLeftToTurn(policy, call)',
      ],
    ],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a read-only tool gets an unknown outcome',
    edits: [["call.status === 'started' && !isLeftToTurn(policy, call)", "call.status === 'started'"]],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a tool with an unknown outcome is not left to a person',
    edits: [['if (stops && !hasSurvivor)', 'if (unknownTool === null)']],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'the calls of a dead program get no results',
    edits: [
      [
        `...overtakenRecords(run, UNKNOWN_OUTCOME),
         ...(facts.finished === undefined`,
        '...(facts.finished === undefined',
      ],
    ],
    suites: ['recovery/settlement'],
  },
  {
    name: 'the calls of a program that had replied get no results',
    edits: [
      [
        `return [
           ...overtakenRecords(run, UNKNOWN_OUTCOME),
           completedRecord(run.run_id, run.usage, run.terminates),
         ]`,
        `return [
           completedRecord(run.run_id, run.usage, run.terminates),
         ]`,
      ],
    ],
    suites: ['recovery/settlement'],
  },
  {
    name: 'a completed agent stays alive after a crash',
    edits: [[', run.terminates', '']],
    suites: ['recovery/settlement'],
  },
  {
    name: "a reply in the program's own store is discarded",
    edits: [['reply(run, facts.finished, facts.used),', '']],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'the reply of a program that still runs is accepted',
    edits: [
      [
        "inspection.outcome !== 'finished' || typeof inspection.reply !== 'string'",
        "typeof inspection.reply !== 'string'",
      ],
    ],
    suites: ['recovery/settle#has not finished is not a reply', 'recovery/settle-killed'],
  },
  {
    name: "a reply of any size is read from the program's store",
    edits: [
      [
        'Buffer.byteLength(inspection.reply) > limits.replyBytesMax',
        'Buffer.byteLength(inspection.reply) < 0',
      ],
    ],
    suites: ['recovery/settle#too large is not recorded', 'recovery/settle-killed'],
  },
  {
    name: "the program's store is read while the program runs",
    edits: [
      [
        'left = await killPrograms(session, server.ended, options.note, options)',
        "found = row === 'J' ? await inspectedTurn(session, options) : { finished: undefined }",
      ],
      ['left.hasSurvivor || isBeside', 'isBeside'],
      ['isBeside ? [...left.elsewhere, ...server.elsewhere] : left.elsewhere', '[]'],
      [
        "found = row === 'J' && !hasSurvivor ? await inspectedTurn(session, options) : { finished: undefined }",
        'left = await killPrograms(session, server.ended, options.note, options)',
      ],
    ],
    suites: ['recovery/settle#is dead before its provider', 'recovery/settle-killed'],
  },
  {
    name: 'an interrupted turn is continued forever',
    edits: [
      ["if (turn === 'continuation' && isExhausted(state)) return { kind: 'exhausted', next: resume }", ';'],
    ],
    suites: ['dispatch/turn-obstacle', 'dispatch/recovering'],
  },
  {
    name: 'automatic resumptions of a run are not counted as attempts',
    edits: [
      ['next.recovery = { ...next.recovery, barren_attempts: next.recovery.barren_attempts + 1 }', 'void 0'],
    ],
    suites: ['session/fold/fold'],
  },
  {
    name: 'automatic continuations of a run are not counted as attempts',
    edits: [
      [
        'isAutomatic ? next.recovery.barren_attempts + 1 : 0',
        'isAutomatic ? next.recovery.barren_attempts : 0',
      ],
    ],
    suites: ['session/fold/fold'],
  },
  {
    name: 'an agent on hold continues automatically',
    edits: [
      [
        "if (state.hold) return { kind: 'hold', code: 'ON_HOLD', is: 'on hold', until: 'resume', next: resume }",
        ';',
      ],
    ],
    suites: ['dispatch/turn-obstacle', 'dispatch/recovering'],
  },
  {
    name: 'an error is sent for a turn that will still be continued',
    edits: [["kind === 'error' && run_id === state.recovery.interruption?.run_id", 'kind === run_id']],
    suites: ['session/fold/mail'],
  },
  {
    name: "an agent that waits for a person's decision needs no visit",
    edits: [["if (needsPerson(state)) return 'decision'", ';']],
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an open run stays open if no turn may start',
    edits: [["if (state.run?.status === 'open') session.append(interruptedRecords(state.run))", ';']],
    suites: ['dispatch/recovering'],
  },
  {
    name: 'a child continues while its requester is on hold',
    edits: [
      [
        "turnObstacle(ctx.store, asker, 'message')?.kind === 'hold' || needsPerson(asker)",
        'needsPerson(asker)',
      ],
    ],
    suites: ['dispatch/recovering'],
  },
  {
    name: 'the request files of a dead turn are not removed',
    edits: [
      [
        `for (const { runId, verb } of this.requests)
         if (runId !== openRunId) parts.requests.remove(agentId, runId, verb)`,
        ';',
      ],
    ],
    suites: ['session/session'],
  },
  {
    name: 'the request files of the open run are removed',
    edits: [
      [
        'if (runId !== openRunId) parts.requests.remove(agentId, runId, verb)',
        "if (runId !== '') parts.requests.remove(agentId, runId, verb)",
      ],
    ],
    suites: ['session/session'],
  },
  {
    name: 'a continued run sends both an error and a reply',
    edits: [
      [
        "next.owes.filter(({ run_id, kind }) => run_id !== record.continues || kind !== 'error')",
        'next.owes',
      ],
    ],
    suites: ['session/fold/mail'],
  },
  {
    name: 'a continued run sends no reply',
    edits: [['record.continues === undefined ? [] : (next.run?.requests ?? [])', '[]']],
    suites: ['session/fold/mail'],
  },
  {
    name: 'unfinished calls are not carried into the continued run',
    edits: [['!isLeft || run === null', 'run === null || !(run === null)']],
    suites: ['session/fold/turn'],
  },
]
