/** Runs the conformance suite for codex, without the cases about permission requests, which codex cannot make. */
import { describe, test } from 'vitest'
import { conformanceCases } from '../../src/provider/conformance/conformance.js'
import type { ProviderSettings } from '../../src/provider/contract.js'
import { codex, place, settingsFor } from './codex-support.js'

/** Each case has new directories. */
function settings(how = '', options: Record<string, string> = {}): ProviderSettings {
  return {
    ...settingsFor(how, options),
    get workspace() {
      return place.workspace
    },
  }
}

describe('codex conforms', () => {
  const cases = conformanceCases(codex, {
    settings: settings(),
    prompt: 'hello there',
    expected: 'echo: hello there',
    // Codex requests no permission, so its own tools never need a living substrat.
    inspects: { settings: settings('--own'), calls: { prompt: 'hello there', count: 1 } },
    slow: {
      settings: settings('--lines 3 --stored 3 --end hang'),
      prompt: 'hello there',
      withinMs: 3_600_000,
    },
    failing: settings('--play limited.jsonl --stored 3 --end 1'),
    refused: settings('', { sandbox: 'none' }),
  })
  for (const { title, run } of cases) test(title, run)
})

describe('with tools in its turns, codex conforms', () => {
  const cases = conformanceCases(codex, {
    settings: settings('--play tools.jsonl --resumed tools.jsonl'),
    prompt: 'use your tools',
    expected: 'That is done.',
  })
  for (const { title, run } of cases) test(title, run)
})
