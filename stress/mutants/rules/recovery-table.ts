/** The rows of the recovery table, and how they are distinguished. */
import type { Mutant } from '../mutant.js'

const action = (row: string, found: string, from: string, to: string): Mutant => ({
  name: `row ${row} takes the action ${to} instead of ${from}`,
  edits: [[`{ found: '${found}', action: '${from}' }`, `{ found: '${found}', action: '${to}' }`]],
  suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
})

export const ROWS: Mutant[] = [
  action('A', 'no open run', 'none', 'close'),
  action('B', 'run started, provider not yet asked', 'go_on', 'close'),
  action('C', 'model asked, no response', 'go_on', 'close'),
  action('D', 'response with tool calls, no tool started', 'go_on', 'close'),
  action('E', 'tool started, no result', 'settle_tools', 'go_on'),
  action('F', 'all results there, model not asked again', 'go_on', 'close'),
  action('G', 'final response there, run not closed', 'close', 'go_on'),
  action('H', 'waiting, token good', 'keep', 'expire'),
  action('H2', 'waiting for a time', 'keep', 'expire'),
  action('I', 'waiting, token bad or deadline passed', 'expire', 'keep'),
  action('J', 'agent provider in flight', 'inspect', 'go_on'),
  {
    name: 'row K: delivered mail stays in the inbox after a crash',
    edits: [
      [
        `export async function settle(session: Session, options: SettleOptions): Promise<SettleResult> {
         removeDelivered(session)`,
        'export async function settle(session: Session, options: SettleOptions): Promise<SettleResult> {',
      ],
    ],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'an ended run counts as open',
    edits: [["if (run?.status !== 'open') return 'A'", "if (run === null) return 'A'"]],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a program in flight is not asked how it ended',
    edits: [["launched: 'J'", "launched: 'B'"]],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a tool in flight counts as pending',
    edits: [["if (calls.some(({ status }) => status === 'started')) return 'E'", ';']],
    suites: ['recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a run past its deadline keeps waiting',
    edits: [
      ['if (wait.deadline_at !== null && isOver(wait.deadline_at, wait.clock, now)) return false', ';'],
    ],
    suites: ['session/status'],
  },
  {
    name: 'a run with a consumed token keeps waiting',
    edits: [
      [
        "token?.status === 'minted' && !isExpired(token, now)",
        'token !== undefined && !isExpired(token, now)',
      ],
    ],
    suites: ['session/status', 'recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a run with an expired token keeps waiting',
    edits: [["token?.status === 'minted' && !isExpired(token, now)", "token?.status === 'minted'"]],
    suites: ['session/status', 'recovery/settle#the recovery table', 'recovery/settle-killed'],
  },
  {
    name: 'a run that waits for a time continues before it',
    edits: [["isOver(wait.not_before ?? '', wait.clock, now)", 'true']],
    suites: ['session/status', 'dispatch/recovering'],
  },
  {
    name: 'a run whose process is dead has the status running',
    edits: [["if (isAtWork(state) && !isHolderAlive) return 'interrupted_startup'", ';']],
    suites: ['session/status'],
  },
  {
    name: 'an interrupted run has the status idle',
    edits: [
      ["if (ended !== undefined && INTERRUPTED_STARTUP.includes(ended)) return 'interrupted_startup'", ';'],
    ],
    suites: ['session/status'],
  },
  {
    name: 'a turn that the operator suspended continues by itself',
    edits: [
      [
        "['process_exit', 'process_restart', 'shutdown', 'program_killed']",
        "['process_exit', 'process_restart', 'shutdown', 'program_killed', 'suspended']",
      ],
    ],
    suites: ['session/status'],
  },
  {
    name: 'a turn with a tool of unknown outcome continues by itself',
    edits: [
      [
        "['process_exit', 'process_restart', 'shutdown', 'program_killed']",
        "['process_exit', 'process_restart', 'shutdown', 'program_killed', 'unknown_tool']",
      ],
    ],
    suites: ['session/status'],
  },
]
