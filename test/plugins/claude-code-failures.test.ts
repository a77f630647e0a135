/** The types of the failures that Claude reports with a status of its API. */
import { expect, test } from 'vitest'
import { failureOfResult } from '../../plugins/provider-claude-code/src/failure.js'

const SIGNS = { error: undefined, limit: undefined, hasBegun: true, said: '' }

test('its limit in dollars is a limit of the budget, and no fault of the provider', () => {
  const { failure, message } = failureOfResult({ is_error: true, subtype: 'error_max_budget_usd' }, SIGNS)
  expect(failure).toEqual({ type: 'crashed', budget_reached: true })
  expect(message).toContain('--max-budget-usd')
})

test.each([
  [500, undefined, 'server_error'],
  [502, undefined, 'server_error'],
  [500, 'server_error', 'server_error'],
  [503, undefined, 'overloaded'],
  [529, undefined, 'overloaded'],
  [529, 'overloaded', 'overloaded'],
])('status %i and the error %s are %s: only an overload is said to be one', (status, error, type) => {
  const result = { is_error: true, api_error_status: status, result: `API Error: ${status}` }
  expect(failureOfResult(result, { ...SIGNS, error }).failure.type).toBe(type)
})
