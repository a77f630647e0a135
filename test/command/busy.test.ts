import { expect, test } from 'vitest'
import { withBusyFlags } from '../../src/command/busy.js'
import { SubstratError } from '../../src/errors.js'

const hint = 'see what it is doing: substrat show a'
const busy = new SubstratError('LOCKED', 'agent a is busy', { hint, facts: { pid: 7 } })

test('the error of a busy agent names only flags that the command has', () => {
  expect(withBusyFlags(busy, {}).hint).toBe(hint)
  expect(withBusyFlags(busy, { timeout: {} }).hint).toBe(`${hint}; to wait longer, add --timeout 1h`)
  const both = withBusyFlags(busy, { timeout: {}, 'if-busy': {} })
  expect(both.hint).toMatch(/add --timeout 1h; to queue a message, add --if-busy queue$/)
  expect(both).toMatchObject({ code: 'LOCKED', message: busy.message, facts: busy.facts })
})

test('other errors stay as they are, also of a lock without a known holder', () => {
  for (const error of [
    new SubstratError('LOCKED', 'the index of names is busy', { hint: 'run it again' }),
    new SubstratError('USAGE', 'no', { hint: 'yes', facts: { pid: 7 } }),
  ])
    expect(withBusyFlags(error, { timeout: {} })).toBe(error)
})
