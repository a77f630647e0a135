/** Which settings `check` accepts and rejects without any request, and the sources of keys. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { startModelServer } from '../support/model-server/server.js'
import { tempDirectory } from '../support/temp.js'
import { anthropic, collect, failureOf, KEY, openai, requestFor, VARIANTS } from './support.js'

afterEach(() => vi.unstubAllEnvs())

describe.each(VARIANTS)('$api', ({ provider, options, keyVariable }) => {
  const base = options('http://127.0.0.1:1')
  const refused = (more: Record<string, string>, model: string | null = 'm') =>
    failureOf(() => provider.check?.(requestFor({ ...base, ...more }, 'x', { model })))

  test('valid settings are accepted without a request', async () => {
    const all = { max_tokens: '100', temperature: '0', stall_timeout: '1.5m' }
    await provider.check?.(requestFor({ ...base, ...all }))
  })

  test('a model is required', async () => {
    for (const model of [null, '', ' ']) {
      const { failure, message } = await refused({}, model)
      expect(failure).toEqual({ type: 'misconfigured' })
      expect(message).toContain('--model')
    }
  })

  test.each([
    ['max_tokens', '0'],
    ['max_tokens', '1e3'],
    ['max_tokens', 'many'],
    ['temperature', 'warm'],
    ['temperature', ''],
    ['temperature', '2.1'],
    ['stall_timeout', '5'],
    ['stall_timeout', '0s'],
    ['stall_timeout', '400d'],
    ['base_url', 'api.example.com'],
    ['base_url', 'ftp://api.example.com'],
    ['base_url', 'https://user:hidden-word@api.example.com'],
    ['base_url', 'https://api.example.com?key=hidden-word'],
  ])('%s=%s is rejected by name', async (name, value) => {
    const { failure, message } = await refused({ [name]: value })
    expect(failure).toEqual({ type: 'misconfigured' })
    expect(message).toContain(name)
    expect(message).not.toContain('hidden-word')
  })

  test('a key comes from any variable or file, but not from both', async () => {
    const server = await startModelServer({ responses: [], key: 'other-key' })
    const folder = tempDirectory()
    const file = join(folder, 'key')
    writeFileSync(file, 'other-key\n')
    vi.stubEnv('MY_KEY', 'other-key')
    const ask = (more: Record<string, string>) =>
      collect(provider, requestFor({ ...options(server.url), ...more }, 'x', { workspace: folder }))
    expect((await failureOf(() => ask({}))).failure.type).toBe('authentication')
    const ways: Record<string, string>[] = [{ key_env: 'MY_KEY' }, { key_file: file }, { key_file: 'key' }]
    for (const more of ways) {
      expect((await ask(more)).at(-1)?.type).toBe('stop')
    }
    expect((await refused({ key_env: 'MY_KEY', key_file: file })).failure.type).toBe('misconfigured')
    await server.close()
  })

  test('a missing key is named, and an invalid key is not shown', async () => {
    expect((await refused({ key_env: 'NO_SUCH_KEY' })).message).toContain('NO_SUCH_KEY')
    const missing = await refused({ key_file: '/nonexistent/key' })
    expect(missing.failure.type).toBe('authentication')
    expect(missing.message).toContain('/nonexistent/key')
    vi.stubEnv(keyVariable, 'hidden word')
    const odd = await refused({})
    expect(odd.failure.type).toBe('misconfigured')
    expect(odd.message).not.toContain('hidden')
  })

  test('each option has a line of help', () => {
    for (const name of ['base_url', 'max_tokens', 'temperature', 'stall_timeout', 'key_env', 'key_file']) {
      expect(provider.options[name]).toMatch(/^.+$/)
    }
  })
})

test('the API of a vendor needs a key', async () => {
  vi.stubEnv('ANTHROPIC_API_KEY', '')
  vi.stubEnv('OPENAI_API_KEY', undefined)
  for (const provider of [anthropic, openai]) {
    const { failure, message } = await failureOf(() => provider.check?.(requestFor({})))
    expect(failure).toEqual({ type: 'authentication' })
    expect(message).toMatch(/(ANTHROPIC|OPENAI)_API_KEY/)
  }
})

test('a local server needs no key, and gets none', async () => {
  vi.stubEnv('OPENAI_API_KEY', undefined)
  const server = await startModelServer()
  await collect(openai, requestFor({ base_url: `${server.url}/v1/` }))
  expect(server.requests[0]?.api).toBe('chat')
  expect(server.requests[0]?.headers.authorization).toBeUndefined()
  await server.close()
})

test('the base URL can come from the environment, and the option wins', async () => {
  const server = await startModelServer()
  vi.stubEnv('ANTHROPIC_BASE_URL', server.url)
  vi.stubEnv('OPENAI_BASE_URL', `${server.url}/v1`)
  await collect(anthropic, requestFor({}))
  await collect(openai, requestFor({}))
  expect(server.requests.map(({ api }) => api)).toEqual(['messages', 'chat'])
  const elsewhere = await failureOf(() => collect(openai, requestFor({ base_url: 'http://127.0.0.1:1/v1' })))
  expect(elsewhere.failure.type).toBe('unreachable')
  await server.close()
})

test('api and reasoning_effort must have known values', async () => {
  for (const [name, value] of [
    ['api', 'completions'],
    ['reasoning_effort', 'much'],
  ] as const) {
    const { failure, message } = await failureOf(() => openai.check?.(requestFor({ [name]: value })))
    expect(failure.type).toBe('misconfigured')
    expect(message).toContain(name)
  }
  expect(KEY).toBe(process.env.OPENAI_API_KEY)
})
