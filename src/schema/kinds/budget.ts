/** The records of budgets. */
import { z } from 'zod'
import { amounts, windowIds } from '../budget.js'
import { flag } from '../types.js'
import { kind, run_id } from './kind.js'

export const budget = {
  'budget.held': kind(
    'A cap applies to the next request. In one batch with its `model.requested` or `provider.started`. Its response settles the amounts. Without an answer they count as spent.',
    {
      run_id: run_id.describe('The latest run, also ended, for the summary of `compact`.'),
      amounts: amounts.describe('The most that the request may use.'),
      windows: windowIds.describe('The windows that it counts in. They never fall.'),
      cached_weight: z
        .number()
        .min(0)
        .max(1)
        .optional()
        .describe('How much a token of cached input counts. Absent: 1.'),
    },
  ),
  'budget.granted': kind('A person lets a turn go on that waits for a budget.', {
    run_id,
    amounts: amounts
      .optional()
      .describe('These are added to every cap over the agent, in its current windows.'),
    windows: windowIds.optional().describe('With `amounts`: those windows.'),
    once: flag.optional().describe('No cap stops the rest of this turn. Its use still counts.'),
  }),
}
