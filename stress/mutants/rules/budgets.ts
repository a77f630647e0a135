/** Budgets: a request holds from each account over its agent before it is sent, and a crash releases nothing. */
import type { Mutant } from '../mutant.js'

export const BUDGETS: Mutant[] = [
  {
    name: 'a request is sent without its hold in the log',
    edits: [
      [
        "{ records: [...before, reserved.record, requested], effect: 'same' }",
        "{ records: [...before, requested], effect: 'same' }",
      ],
    ],
    suites: ['commands/budgets'],
  },
  {
    name: 'a hold without an answer is released',
    edits: [['...spend(rest, { ...amounts, ...largest(amounts, used) })', '...rest']],
    suites: ['session/fold/budget', 'turn/budget/turn-budget'],
  },
  {
    name: 'a budget forgets the agents above',
    edits: [['return [...home, ...above, ...own]', 'return [...home, ...own]']],
    suites: ['turn/budget/turn-budget', 'commands/budgets'],
  },
  {
    name: 'a budget knows only the parent of an agent, and no agent above that',
    edits: [['id = state?.parent ?? null', 'id = null']],
    suites: ['turn/budget/turn-budget', 'turn/budget/accounts'],
  },
  {
    name: 'an agent with a damaged log counts as nothing',
    edits: [['return last ?? []', 'return []']],
    suites: ['turn/budget/accounts'],
  },
  {
    name: 'an answer that began costs nothing if a refusal ends it',
    edits: [['return !hasBegun && FREE.includes(error.type)', 'return FREE.includes(error.type)']],
    suites: ['session/fold/budget'],
  },
  {
    name: 'an account of another boot is trusted',
    edits: [['isOurs && !entries.includes(undefined)', 'true']],
    suites: ['turn/budget/turn-budget', 'turn/budget/accounts', 'storage/conformance'],
  },
  {
    name: 'an entry of a dead process is not read from its log',
    edits: [['known = known.map((each) => refreshed(store, each, id))', ';']],
    suites: ['turn/budget/turn-budget'],
  },
  {
    name: 'a window goes back with the clock',
    edits: [['ids[period] = before > id ? before : id', 'ids[period] = id']],
    suites: ['session/budget/calendar'],
  },
  {
    name: 'a hold of an agent above is waited for',
    edits: [
      [
        '? round(spent + stays) >= cap.max : round(spent + stays + next) > cap.max',
        '? round(spent) >= cap.max : round(spent + next) > cap.max',
      ],
    ],
    suites: ['turn/budget/turn-budget'],
  },
]
