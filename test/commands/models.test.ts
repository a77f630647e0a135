import { chmodSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { startModelServer } from '../support/model-server/server.js'
import { isAlive } from '../support/processes.js'
import { waitFor } from '../support/wait.js'

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

  test('lists all pages of the models of anthropic with their names, also as the configured provider', async () => {
    const house = await houseWith('anthropic')
    await house.ok('config', 'set', 'provider', 'anthropic')
    const { stdout } = await house.run(['models'], { env: { SUBSTRAT_PROVIDER: '' } })
    expect(stdout).toMatch(
      /^claude-large +Claude large *\nclaude-medium +Claude medium *\nclaude-small +Claude small *\n$/m,
    )
  })

  test('complete --model: those of your agents, else those of the provider', async () => {
    const house = await houseWith('openai')
    const offered = async (): Promise<string> =>
      (await house.ok('complete', '--', 'spawn', '-p', 'openai', '--model', '')).stdout
    expect(await offered()).toBe('gpt-small\t\ngpt-large\t\n')
    await house.ok('spawn', '-p', 'openai', '--model', 'gpt-large')
    expect(await offered()).toBe('gpt-large\tof your agents\n')
    expect((await house.ok('complete', '--', 'spawn', '-p', 'exec', '--model', '')).stdout).toBe('')
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

  test('refuses a list of pages that never ends', async () => {
    const page = JSON.stringify({ data: [{ id: 'm' }], has_more: true, last_id: 'm' })
    const endless = createServer((_, response) => response.end(page))
    await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve))
    const house = await houseWith('anthropic')
    const base = `base_url=http://127.0.0.1:${(endless.address() as AddressInfo).port}`
    const { exit, stderr } = await house.run(['models', 'anthropic', '--option', base])
    endless.close()
    expect(exit).toBe(9)
    expect(stderr).toContain('sent a list of more than 50 pages')
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

describe.concurrent('models of an agent program', () => {
  const INITIALIZED = {
    type: 'control_response',
    response: { subtype: 'success', response: { models: [{ value: 'opus', description: 'The large one' }] } },
  }
  const CATALOG = {
    models: [
      { slug: 'gpt-large', description: 'The large one', visibility: 'list' },
      { slug: 'gpt-review', description: 'Of codex itself', visibility: 'hide' },
    ],
  }

  async function houseOf(name: string, script: string): Promise<House> {
    const house = House.ofProcesses()
    await house.ok('providers', 'add', name)
    chmodSync(house.write('program', `#!/bin/sh\n${script}\n`), 0o755)
    await house.ok('config', 'set', `${name}.command`, './program')
    return house
  }

  test.each([
    [
      'opencode',
      `[ "$*" = models ] && echo loop/small && echo 'a note' && echo loop/org/large`,
      [
        { id: 'loop/small', description: null },
        { id: 'loop/org/large', description: null },
      ],
    ],
    [
      'codex',
      `[ "$*" = 'debug models' ] && echo '${JSON.stringify(CATALOG)}'`,
      [{ id: 'gpt-large', description: 'The large one' }],
    ],
    // It stays until its client ends it.
    [
      'claude-code',
      `read -r asked; echo "$asked" >asked; echo '${JSON.stringify(INITIALIZED)}'; cat`,
      [{ id: 'opus', description: 'The large one' }],
    ],
  ])('are those that %s lists', async (name, script, models) => {
    const house = await houseOf(name, script)
    expect((await house.ok('models', name, '--json')).json).toStrictEqual({ provider: name, models })
    if (name === 'claude-code') expect(house.read('asked')).toContain('"subtype":"initialize"')
  })

  test.each(['opencode', 'codex', 'claude-code'])('of %s that fails have its words', async (name) => {
    const house = await houseOf(name, 'echo "log in first" >&2; exit 3')
    const { exit, stderr } = await house.run(['models', name])
    expect(exit).toBe(9)
    expect(stderr).toMatch(/program( models| debug models)? exited 3: log in first \(/)
  })

  test('that does not answer end with the timeout, and no process of it is left', async () => {
    const house = await houseOf('opencode', 'echo $$ >pid; sleep 1000 & wait')
    const { exit, stderr } = await house.run(['models', 'opencode', '--timeout', '2s'])
    expect({ exit, stderr }).toMatchObject({ exit: 9, stderr: expect.stringContaining('within 2000 ms') })
    const pid = Number(house.read('pid'))
    await waitFor(() => !isAlive(pid), 'the end of the program')
  })

  test('that is missing exit 8', async () => {
    const house = await houseOf('codex', '')
    await house.ok('config', 'set', 'codex.command', './missing')
    const { exit, stderr } = await house.run(['models', 'codex'])
    expect(exit).toBe(8)
    expect(stderr).toContain('./missing')
  })
})
