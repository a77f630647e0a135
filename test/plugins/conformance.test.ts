/** Runs the conformance suite for the model providers. */
import { afterAll, describe, test } from 'vitest'
import { conformanceCases } from '../../src/provider/conformance/conformance.js'
import { startModelServer } from '../support/model-server/server.js'
import { requestFor, VARIANTS } from './support.js'

const server = await startModelServer({
  responses: [],
  rules: [
    { includes: 'be slow', text: 'slow', delay_ms: 3_600_000 },
    { includes: 'be refused', text: 'I', stop: 'filter' },
  ],
})
const LOOKS = [{ name: 'look', input: { place: 'sky' } }]
const reasoning = await startModelServer({
  responses: [
    {
      tool_calls: LOOKS,
      text: 'I look.',
      order: [{ think: 'Where?' }, { redacted: 'There.' }, 'text', { think: 'Up.' }, 'call'],
    },
    { text: 'the sky is blue' },
  ],
})
const failing = await startModelServer({ responses: [{ fault: { error: 'server_error' } }] })
afterAll(() => Promise.all([server, reasoning, failing].map((each) => each.close())))

describe.each(VARIANTS)('$api', ({ provider, options }) => {
  const settings = (url: string, model: string | null = 'model-1') => {
    const { workspace, instructions, options: all } = requestFor(options(url))
    return { workspace, instructions, options: all, model }
  }
  const cases = conformanceCases(provider, {
    settings: settings(server.url),
    prompt: 'say hello',
    expected: 'echo: say hello',
    slow: { settings: settings(server.url), prompt: 'be slow', withinMs: 3_600_000 },
    failing: settings(failing.url),
    reasons: {
      settings: settings(reasoning.url),
      prompt: 'what colour is the sky?',
      expected: 'blue',
      sent: () => reasoning.reasoning().sent,
      received: () => reasoning.reasoning().received,
    },
    refuses: { settings: settings(server.url), prompt: 'be refused' },
    refused: settings(server.url, null),
  })
  for (const { title, run } of cases) test(title, run)
})
