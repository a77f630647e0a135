/** Error messages of codex 0.169, and their failure types. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  codex,
  codexFailure,
  failureIn,
  firstTurn,
  newLab,
  place,
  settingsFor,
  stateIn,
  turn,
  typesOf,
} from './codex-support.js'

/** 16:51:05 of a day in November, local time. */
const NOW = new Date(2026, 10, 20, 16, 51, 5).getTime()
const MINUTE = 60_000
const LIMIT =
  'You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again'

test.each<[said: string, type: string, retryAfterMs: number | undefined]>([
  ['exceeded retry limit, last status: 429 Too Many Requests', 'rate_limit', undefined],
  ['rate limit exceeded: Rate limit reached for m. Please try again in 1.5s.', 'rate_limit', 1500],
  [`${LIMIT} at 4:52 PM.`, 'rate_limit', 115_000],
  [`${LIMIT} at 4:51 PM.`, 'rate_limit', 55_000],
  [`${LIMIT} at 4:50 PM.`, 'rate_limit', 24 * 60 * MINUTE - 5000],
  [`${LIMIT} at Nov 23rd, 2026 4:51 PM.`, 'rate_limit', 3 * 24 * 60 * MINUTE + 55_000],
  [`${LIMIT} at Nov 20th, 2025 4:51 PM.`, 'rate_limit', 0],
  [`${LIMIT} later.`, 'rate_limit', undefined],
  ['Quota exceeded. Check your plan and billing details.', 'billing', undefined],
  ['To use Codex with your ChatGPT plan, upgrade to Plus: https://x', 'misconfigured', undefined],
  [
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
    'overflow',
    undefined,
  ],
  ['Selected model is at capacity. Please try a different model.', 'overloaded', undefined],
  ['We’re currently experiencing high demand, which may cause temporary errors.', 'overloaded', undefined],
  [
    'unexpected status 401 Unauthorized: Incorrect API key provided: k., url: http://127.0.0.1/v1/responses',
    'authentication',
    undefined,
  ],
  [
    'stream disconnected before completion: Incomplete response returned, reason: content_filter',
    'refused',
    undefined,
  ],
  [
    'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
    'refused',
    undefined,
  ],
  ['Missing environment variable: `KEY`.', 'authentication', undefined],
  ['The model m does not exist', 'misconfigured', undefined],
  ['{"error":{"message":"bad thing","type":"invalid_request_error","code":"x"}}', 'invalid', undefined],
  ['stream disconnected before completion: failed to lookup address information', 'unreachable', undefined],
  ['Error: Model provider `gone` not found', 'misconfigured', undefined],
  [
    'Error loading config.toml: unknown variant `bogus`, expected one of `auto`, `prompt`',
    'misconfigured',
    undefined,
  ],
  ["error: invalid value 'nope' for '--sandbox <SANDBOX_MODE>'", 'misconfigured', undefined],
  [
    'Error: thread/start: thread/start failed: error creating thread: Fatal error: Failed to initialize session: required MCP servers failed to initialize: substrat: No such file or directory (os error 2) (code -32603)',
    'misconfigured',
    undefined,
  ],
  ['it made a mistake', 'crashed', undefined],
  ['Error: thread/start failed: no thread was begun: sandbox helper not found', 'crashed', undefined],
])('the error text %s has type %s', (said, type, retryAfterMs) => {
  expect(codexFailure(said, NOW).failure).toEqual(
    retryAfterMs === undefined ? { type } : { type, retry_after_ms: retryAfterMs },
  )
})

test('a rejected request has the message of the API', () => {
  expect(codexFailure('{"error":{"message":"bad thing","code":"x"}}').message).toBe('bad thing')
})

describe('a turn that codex reports as failed', () => {
  test.each([
    ['limited', 'rate_limit', /^You’ve hit your usage limit/],
    ['throttled', 'rate_limit', /^exceeded retry limit/],
    ['refused', 'invalid', /^bad thing$/],
  ])('in the recording %s has type %s', async (name, type, message) => {
    const failed = await firstTurn(`--play ${name}.jsonl --stored 3 --end 1`)
    expect(failureIn(failed)).toMatchObject({ type, message: expect.stringMatching(message) })
    expect(typesOf(failed)).toEqual(['state', 'note'])
  })

  test('has the time at which its limit is reset', async () => {
    const { retry_after_ms } = failureIn(await firstTurn('--play limited.jsonl --stored 3 --end 1'))
    expect(retry_after_ms).toBeGreaterThan(0)
    expect(retry_after_ms).toBeLessThanOrEqual(24 * 60 * MINUTE)
  })

  test('fails with the last error if codex dies before turn.failed', async () => {
    const failed = await firstTurn('--play limited.jsonl --lines 4 --stored 3 --end kill')
    expect(failureIn(failed).type).toBe('rate_limit')
  })

  test('does not fail with an error from which codex recovered', async () => {
    const failed = await firstTurn('--play recovered.jsonl --lines 6 --stored 3 --end kill')
    expect(failureIn(failed).type).toBe('crashed')
  })

  test('fails even if codex exits with status 0', async () => {
    expect(failureIn(await firstTurn('--play refused.jsonl --stored 3 --end exit')).type).toBe('invalid')
  })
})

describe('a thread that cannot be continued', () => {
  async function second(
    how: string,
    before: () => void = () => undefined,
  ): Promise<Awaited<ReturnType<typeof turn>>> {
    const { host } = newLab()
    const first = await turn(await codex.create(settingsFor(), host))
    before()
    return turn(await codex.restore(stateIn(first), settingsFor(how), host), 'once more')
  }

  test('because it no longer exists is lost', async () => {
    const lost = await second('', () => rmSync(join(place.home, 'sessions'), { recursive: true }))
    expect(failureIn(lost)).toMatchObject({
      type: 'session_lost',
      message: expect.stringMatching(/^Error: .*no rollout found for thread id/),
    })
  })

  test('because codex has it open elsewhere is busy, and gets neither the reply nor the tokens of the turn there', async () => {
    const busy = await second('--busy')
    expect(failureIn(busy).type).toBe('busy')
    expect(typesOf(busy)).toEqual(['state'])
  })

  test('because its state is not of codex is lost', async () => {
    const opening = codex.restore(Buffer.from('{"session_id":"x"}'), settingsFor(), newLab().host)
    await expect(opening).rejects.toMatchObject({ failure: { type: 'session_lost' } })
  })
})

test('unknown arguments are misconfigured, with the message of codex', async () => {
  const refused = await firstTurn('', { args: '--no-such-thing' })
  expect(failureIn(refused)).toMatchObject({
    type: 'misconfigured',
    message: expect.stringMatching(/^error: unexpected argument '--no-such-thing' found/),
  })
})

test('an empty prompt is invalid', async () => {
  expect(failureIn(await firstTurn('', {}, '')).type).toBe('invalid')
})

test('a missing workspace is reported', async () => {
  const settings = settingsFor()
  rmSync(place.workspace, { recursive: true })
  const { error } = await turn(await codex.create(settings, newLab().host))
  mkdirSync(place.workspace)
  expect(String(error)).toContain(place.workspace)
})
