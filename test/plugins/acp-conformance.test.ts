/** Runs the conformance suite against an agent that supports the protocol. */
import { test } from 'vitest'
import { conformanceCases } from '../../src/provider/conformance/conformance.js'
import { Agent, acp } from './acp/support.js'

const agent = new Agent()
const settings = agent.settings()
const login = new Agent('wants a login').settings()

const cases = conformanceCases(acp, {
  settings,
  prompt: 'hi',
  expected: 'echo: hi',
  asks: {
    settings,
    prompt: JSON.stringify([
      {
        'ask for': [{ toolCallId: 'c', kind: 'execute', title: 'echo hi', rawInput: { command: 'echo hi' } }],
      },
      { stop: 'end_turn' },
    ]),
    expected: '[allow_once]',
  },
  slow: { settings, prompt: '[{"hang":1}]', withinMs: 3_600_000 },
  failing: login,
  refuses: { settings, prompt: '[{"stop":"refusal"}]' },
  refused: { ...settings, options: {} },
})
for (const { title, run } of cases) test(title, run)
