/**
 * `--fresh` and the setting `context` keep the cost of a turn from growing with the conversation. `TURNS=100` measures the figures of docs/cron.md: the server
 * counts a token for each 4 characters of the request's messages.
 */
import { afterAll, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { type AnswerFunction, startModelServer } from '../support/model-server/server.js'

const TURNS = Number(process.env.TURNS ?? 4)

/** In Chat Completions, and in the Responses API. */
function messagesOf(body: object): unknown {
  const { messages, input } = body as { messages?: unknown; input?: unknown }
  return messages ?? input ?? []
}
const answer: AnswerFunction = ({ body }) => ({
  text: 'Nothing new since yesterday.',
  usage: { input_tokens: Math.ceil(JSON.stringify(messagesOf(body)).length / 4), output_tokens: 7 },
})

const server = await startModelServer(answer)
afterAll(() => server.close())

async function inputTokens(house: House, context: string, ...more: string[]): Promise<number[]> {
  await house.ok('spawn', '--name', 'night', '--provider', 'openai', '--model', 'm', '--context', context)
  const each: number[] = []
  for (let turn = 1; turn <= TURNS; turn++) {
    const before = server.requests.length
    await house.ok('send', 'night', 'Look for new reports.', '--key', `night-${turn}`, ...more)
    expect(server.requests.length).toBe(before + 1)
    each.push(answer(server.requests[before] as Parameters<AnswerFunction>[0]).usage?.input_tokens ?? 0)
  }
  const { json } = await house.ok('show', 'night', '--json')
  const { usage, run } = json as { usage: { input_tokens: number }; run: { fresh?: boolean } }
  expect(usage.input_tokens).toBe(each.reduce((sum, tokens) => sum + tokens, 0))
  expect(run.fresh).toBe(more.length > 0 || context === 'turn' ? true : undefined)
  if (process.env.TURNS !== undefined) console.log(TURNS, context, ...more, usage.input_tokens)
  return each
}

async function house(): Promise<House> {
  const made = new House({ OPENAI_API_KEY: 'right' })
  await made.ok('providers', 'add', 'openai')
  await made.ok('config', 'set', 'openai.base_url', `${server.url}/v1`)
  return made
}

test('without --fresh each turn costs more than the one before', async () => {
  const each = await inputTokens(await house(), 'all')
  expect(each).toEqual(each.toSorted((a, b) => a - b))
  expect(each[TURNS - 1]).toBeGreaterThan(2 * (each[0] as number))
})

test.each([
  ['--fresh', 'all', '--fresh'],
  ['the context turn', 'turn'],
])(
  'with %s each turn costs the same, and its request has only its own message',
  async (_, context, ...more) => {
    const own = await house()
    const each = await inputTokens(own, context, ...more)
    expect(new Set(each).size).toBe(1)
    expect(JSON.stringify(server.requests.at(-1)?.body)).not.toContain('Nothing new since yesterday')
    expect((await own.ok('log', 'night')).stdout.match(/new conversation/g)).toHaveLength(TURNS)
    expect((await own.ok('show', 'night')).stdout).toContain('it began a new conversation')
  },
)

test('with the context last:2 a turn costs as much as the one before it, once there were two', async () => {
  const own = await house()
  const each = await inputTokens(own, 'last:2')
  expect(each.slice(0, 3)).toEqual(each.slice(0, 3).toSorted((a, b) => a - b))
  expect(new Set(each.slice(2)).size).toBe(1)
  expect(JSON.stringify(server.requests.at(-1)?.body).match(/Nothing new since yesterday/g)).toHaveLength(2)
})
