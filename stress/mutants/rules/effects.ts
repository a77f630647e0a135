/** Calls whose result a crash lost: the decision about them, and their identity for the world outside. */
import type { Mutant } from '../mutant.js'

const RULES = ['commands/on-unknown']
const LEFT_TO_A_PERSON = ['dispatch/tools-cut-short']

export const EFFECTS: Mutant[] = [
  {
    name: 'a call that runs again has another identity',
    edits: [
      [
        'id: callId(this.session, calls_at as Location, index),',
        'id: callId(this.session, calls_at as Location, index + (isCutShort ? attempts : 0)),',
      ],
    ],
    suites: RULES,
  },
  {
    name: 'the calls of a response share one identity',
    edits: [['String(at.seq), ts, String(index))', 'String(at.seq), ts)']],
    suites: RULES,
  },
  {
    name: 'a call that runs again counts as its first attempt',
    edits: [['attempt: isCutShort ? attempts + 1 : attempts,', 'attempt: attempts,']],
    suites: RULES,
  },
  {
    name: 'a repeated key continues a turn that is left to a person',
    edits: [["(obstacle === 'unknown' && !decides)", "(obstacle === 'unknown' && decides)"]],
    suites: LEFT_TO_A_PERSON,
  },
  {
    name: 'mail and messages run after a call of unknown outcome',
    edits: [
      ["return isOutcomeUnknown(state) ? { kind: 'unknown', next: resume } : undefined", 'return undefined'],
    ],
    suites: LEFT_TO_A_PERSON,
  },
  {
    name: 'a call that a stop signal cut short continues by itself',
    edits: [["rule === 'stop' && reason === 'shutdown' ? 'unknown_tool' : reason", 'reason']],
    suites: LEFT_TO_A_PERSON,
  },
  {
    name: 'a check that fails counts as done',
    edits: [['if (code === 0 && !isLate)', 'if (code !== 1 && !isLate)']],
    suites: RULES,
  },
  {
    name: 'a call that a check found not done is not run again',
    edits: [["return { found: 'not_done'", "return { found: 'done'"]],
    suites: RULES,
  },
  {
    name: 'a check that tells nothing lets the call run again',
    edits: [["if (found === 'not_done') {", "if (found !== 'done') {"]],
    suites: RULES,
  },
  {
    name: 'the rules of the settings come before those of the agent',
    edits: [
      [
        'onUnknown: [...(session.state.on_unknown ?? []), ...(ctx.tools.onUnknown ?? [])],',
        'onUnknown: [...(ctx.tools.onUnknown ?? []), ...(session.state.on_unknown ?? [])],',
      ],
    ],
    suites: RULES,
  },
  {
    name: 'the word of a tool server counts without the setting',
    edits: [['this.options.trustsHints === true && this.serverOf(name)', 'this.serverOf(name)']],
    suites: RULES,
  },
]
