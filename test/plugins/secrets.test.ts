/** Which values are removed from errors as secrets, and which are not. */
import { describe, expect, test } from 'vitest'
import { pluginPart } from './plugin-part.js'

type Scrubber = (
  key: string | undefined,
  known: { url: URL; model: string | null },
  environment: Record<string, string>,
) => (text: string) => string
const { scrubber } = await pluginPart<{ scrubber: Scrubber }>('shared/src/model/secrets')

const scrub = (
  text: string,
  key?: string,
  { host = 'models.example', model = 'llama3', environment = {} } = {},
): string => scrubber(key, { url: new URL(`https://${host}/v1`), model }, environment)(text)

describe('a key that is not a secret', () => {
  test.each([
    ['ollama', 'model "x" not found in ollama'],
    ['EMPTY', 'the list of models is EMPTY'],
    ['lm-studio', 'lm-studio has no such model'],
    ['not-needed', 'a key is not-needed'],
    ['sk-no-key-required', 'sk-no-key-required is what llama.cpp takes'],
    ['x', 'x is next to xerxes'],
    ['123', 'port 1234, and 123 more'],
    ['1234567', 'at most 1234567 tokens'],
  ])('%s stays in a sentence with that word', (key, sentence) => {
    expect(scrub(sentence, key)).toBe(sentence)
  })

  test('that is the host, a part of it, or the model stays', () => {
    const known = { host: 'gpu7.models.example', model: 'qwen3:8b' }
    for (const key of ['gpu7', 'gpu7.models.example', 'qwen3:8b', 'QWEN3', '8b'])
      expect(scrub(`${key} at gpu7.models.example has no qwen3:8b`, key, known)).toContain(key)
  })
})

describe('a key that can be a secret', () => {
  test.each([
    'sk-ant-api03-abcdefghijklmnop',
    'AIzaSyA-0123456789_abcdef',
    'correct-horse-battery-staple',
    'abcdefghijklmnopqrst',
    'gsk_12ab',
    'hunter2',
    'a+b/c=',
  ])('%s is removed in any encoding', (key) => {
    const text = `the key ${key} is not known: ${JSON.stringify({ key })}, ?key=${encodeURIComponent(key)}`
    expect(scrub(text, key)).toBe('the key [secret] is not known: {"key":"[secret]"}, ?key=[secret]')
  })

  test('with many characters is removed inside other words, also from the host and the path', () => {
    const key = 'k3y-of-a-tunnel-0123456789'
    const known = { host: `${key}.tunnel.example` }
    expect(scrub(`no /v1/${key}/chat at ${key}.tunnel.example, ${key}${key}`, key, known)).toBe(
      'no /v1/[secret]/chat at [secret].tunnel.example, [secret][secret]',
    )
  })

  test('with few characters is removed only as a whole word', () => {
    expect(scrub('v1a2 is no part of v1a2b or rev1a2', 'v1a2')).toBe('[secret] is no part of v1a2b or rev1a2')
  })

  test('in the URL of a proxy is removed', () => {
    const environment = { HTTPS_PROXY: 'http://someone:se%40cret@proxy.example:3128' }
    expect(scrub('got se@cret, se%40cret and Basic c29tZW9uZTpzZUBjcmV0', undefined, { environment })).toBe(
      'got [secret], [secret] and [secret]',
    )
  })
})

test('a key that an API repeats in masked form is removed, and words after Bearer are not', () => {
  expect(scrub('Incorrect API key provided: sk-pro****************abcd.')).not.toContain('abcd')
  expect(scrub('Bearer abc123def456 is wrong')).toBe('[secret] is wrong')
  expect(scrub('Bearer authentication is required')).toBe('Bearer authentication is required')
})
