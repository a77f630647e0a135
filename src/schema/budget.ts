/** The shapes of budgets: caps, the amounts that they count, and the use of an agent. */
import { z } from 'zod'
import { integer, text, time, uuid } from './types.js'
import { BUDGET_PERIODS, BUDGET_UNITS } from './words.js'

const count = integer.min(0)

export const amounts = z
  .object({
    tokens: count.optional().describe('Input and output.'),
    usd: z.number().min(0).optional(),
    turns: count.optional(),
    requests: count.optional(),
    time_ms: count.optional(),
  })
  .meta({ id: 'amounts', description: 'Amounts that budgets count.' })

export const cap = z
  .object({
    unit: z.enum(BUDGET_UNITS),
    max: z.number().min(0).describe('In milliseconds for `time`.'),
    per: z.enum(BUDGET_PERIODS).optional().describe('Absent: in total.'),
  })
  .meta({ id: 'cap', description: 'A limit on one unit.' })

/** The id of the current window of each period. */
export const windowIds = z
  .object({
    hour: text.optional(),
    day: text.optional(),
    week: text.optional(),
    month: text.optional(),
  })
  .meta({
    id: 'window_ids',
    description:
      'Windows of the calendar, such as `2026-11-29T10`, `2026-11-29`, `2026-W48` and `2026-11`. They compare as texts.',
  })

const used = z
  .object({
    id: text.describe('Its window. Empty for the total.'),
    spent: amounts,
    granted: amounts.optional().describe('Added by `approve --add`. It counts against no cap.'),
  })
  .meta({ id: 'used_window', description: 'The use of an agent in one window.' })

/** Only an agent under a cap has a total or a window. */
export const budgetState = z
  .object({
    caps: z.array(cap).optional().describe('They hold for the agent and everything below it.'),
    total: used.optional(),
    hour: used.optional(),
    day: used.optional(),
    week: used.optional(),
    month: used.optional(),
    hold: z
      .object({
        run_id: uuid,
        amounts,
        used: amounts.describe('The usage that was reported since.'),
        since: time,
        cached_weight: z.number().optional(),
      })
      .optional()
      .describe('The most that the running request may use.'),
    free_run: uuid.optional().describe('The run that `approve --once` has freed from its caps.'),
    counted_run: uuid.optional().describe('The latest run whose turn was counted.'),
    idle_since: time.optional().describe('When the latest request of the open run ended.'),
    unanswered: integer.optional().describe('Requests without an answer. Their holds are spent.'),
  })
  .meta({
    id: 'budget_state',
    description: 'The caps of an agent, and its use under all caps over it.',
  })

export type Amounts = z.infer<typeof amounts>
export type Cap = z.infer<typeof cap>
export type WindowIds = z.infer<typeof windowIds>
export type UsedWindow = z.infer<typeof used>
export type BudgetState = z.infer<typeof budgetState>
