/** Runs the conformance suite for claude-code. */
import { describe, test } from 'vitest'
import { conformanceCases } from '../../src/provider/conformance/conformance.js'
import { claude, settings } from './claude-code/support.js'

describe('claude-code', () => {
  const cases = conformanceCases(claude, {
    settings: settings(),
    prompt: 'hello',
    expected: 'echo: hello',
    asks: { settings: settings(), prompt: 'use the tool', expected: 'echo: USETOOL' },
    inspects: {
      settings: settings(),
      fails: 'fail with a tool',
      calls: { prompt: 'use substrat', count: 1 },
    },
    slow: { settings: settings(), prompt: 'be slow', withinMs: 3_600_000 },
    failing: settings({ command: '/nowhere/claude' }),
    refuses: { settings: settings(), prompt: 'refuse' },
    refused: settings({ permission_mode: 'none' }),
  })
  for (const { title, run } of cases) test(title, run)
})
