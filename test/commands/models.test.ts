import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { startModelServer } from '../support/model-server/server.js'

const server = await startModelServer()
afterAll(() => server.close())

async function houseWith(name: string, env: Record<string, string> = {}): Promise<House> {
  const keys = { OPENAI_API_KEY: 'right', ANTHROPIC_API_KEY: 'right' }
  const house = House.ofProcesses({ ...keys, ...env })
  await house.ok('providers', 'add', name)
  const path = name === 'openai' ? '/v1' : ''
  await house.ok('config', 'set', `${name}.base_url`, `${server.url}${path}`)
  return house
}

describe.concurrent('models', () => {
  test('lists the models of openai', async () => {
    const house = await houseWith('openai')
    expect((await house.ok('models', 'openai')).stdout).toMatch(/^gpt-small *\ngpt-large *$/m)
    const { json } = await house.ok('models', 'openai', '--json')
    expect(json).toStrictEqual({
      provider: 'openai',
      models: [
        { id: 'gpt-small', description: null },
        { id: 'gpt-large', description: null },
      ],
    })
  })

  test('lists the models of anthropic with their names, and is also that of the configured provider', async () => {
    const house = await houseWith('anthropic')
    await house.ok('config', 'set', 'provider', 'anthropic')
    const { stdout } = await house.run(['models'], { env: { SUBSTRAT_PROVIDER: '' } })
    expect(stdout).toMatch(/^claude-large +Claude Large *$/m)
  })

  test('with a wrong key exits 8 and says where the keys are named', async () => {
    const house = await houseWith('openai', { OPENAI_API_KEY: 'wrong' })
    const { exit, stderr } = await house.run(['models', 'openai'])
    expect(exit).toBe(8)
    expect(stderr).toMatch(
      /^substrat: openai: .*401.* \(its options and keys: substrat providers openai\)\n$/,
    )
  })

  test('exits 8 for a provider without a list', async () => {
    const { exit, stderr } = await new House().run(['models', 'exec'])
    expect(exit).toBe(8)
    expect(stderr).toMatch(/^substrat: the provider exec cannot list its models \(/)
  })

  test('refuses an unknown provider or option', async () => {
    const house = new House()
    expect((await house.run(['models', 'nobody'])).exit).toBe(3)
    expect((await house.run(['models', 'exec', '--option', 'colour=red'])).exit).toBe(2)
  })

  test('ends after its timeout although the server never answers', async () => {
    const silent = createServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const house = await houseWith('openai')
    const base = `base_url=http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`
    const { exit, stderr } = await house.run(['models', 'openai', '--option', base, '--timeout', '100ms'])
    silent.closeAllConnections()
    silent.close()
    expect(exit).toBe(9)
    expect(stderr).toContain('it did not list its models within 100 ms')
  })
})
