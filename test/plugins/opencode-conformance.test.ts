/** Runs the conformance suite against a stand-in for OpenCode. */
import { test } from 'vitest'
import { conformanceCases } from '../../src/provider/conformance/conformance.js'
import { OpenCode, opencode } from './opencode/support.js'

const settings = new OpenCode().settings()

/** With a tool that it reports and stores. */
const turnWith = (tool: object | undefined, stored: object): string =>
  JSON.stringify([
    { begin: 'I look. ' },
    ...(tool ? [{ tool }] : []),
    { 'stored tool': stored },
    { say: 'Done.' },
  ])

const cases = conformanceCases(opencode, {
  settings,
  prompt: 'hi',
  expected: 'echo: hi',
  asks: {
    settings,
    prompt: JSON.stringify([
      { begin: '' },
      { tool: { callID: 'c', tool: 'bash', state: { status: 'running', input: { command: 'ls' } } } },
      { 'ask for': [{ permission: 'bash', patterns: ['ls'], metadata: { command: 'ls' } }] },
    ]),
    expected: '[once]',
  },
  inspects: {
    settings,
    fails: turnWith(
      { callID: 'sh', tool: 'bash', state: { status: 'error', input: {}, error: 'no such file' } },
      { tool: 'bash', callID: 'sh', state: { status: 'error' } },
    ),
    calls: {
      prompt: turnWith(undefined, { tool: 'substrat_mail', callID: 'own', state: { status: 'completed' } }),
      count: 1,
    },
  },
  keepsServer: true,
  slow: { settings, prompt: '[{"hang":1}]', withinMs: 3_600_000 },
  failing: new OpenCode('dies at once').settings(),
  refuses: { settings, prompt: '[{"end":"content-filter"}]' },
  refused: { ...settings, model: 'no-provider' },
})
for (const { title, run } of cases) test(title, run)
