/** The one word for each agent: the same for each reader. */
import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { KEYED } from '../support/keyed.js'
import { waitFor } from '../support/wait.js'
import { EventClient } from './event-client.js'
import { Served } from './support.js'

const LIMIT = { fail: { type: 'rate_limit', retry_after_ms: 3_600_000, attempts: 9 } }

/** An agent of each word, with the word as its name. `running` is not among them: its turn would end. */
const WORDS = [
  ['held', 'idle'],
  ['gated', 'idle'],
  ['scheduled', 'idle'],
  ['idle', 'idle'],
  ['waiting', 'waiting'],
  ['cancelled', 'idle'],
  ['refused', 'idle'],
  ['failed', 'idle'],
  ['limited', 'waiting'],
  ['timed_out', 'idle'],
  ['interrupted', 'interrupted_startup'],
  ['corrupt', 'corrupt'],
  ['terminated', 'idle'],
] as const

const NEED_PERSON = ['waiting', 'refused', 'failed', 'timed_out', 'interrupted', 'corrupt']

async function everyKind(): Promise<House> {
  const house = new House()
  const scenario = (name: string, script: object) =>
    house.spawn(name, '-o', house.scenario(`${name}.json`, script))
  const sent = async (exit: number, ...args: string[]) =>
    expect(await house.run(['send', ...args])).toMatchObject({ exit })
  for (const name of ['held', 'gated', 'scheduled', 'idle']) await house.spawn(name)
  await house.ok('suspend', 'held', '--hold')
  await house.ok('gate', 'gated')
  await house.ok('send', 'scheduled', '--not-before', '1h', 'later')
  for (const name of ['waiting', 'cancelled']) {
    await scenario(name, { tools: [{ name: 'shell', input: { command: 'true' } }] })
    await sent(5, name, 'go')
  }
  await house.ok('cancel', 'cancelled')
  await scenario('failed', { fail: { type: 'invalid' } })
  await sent(9, 'failed', 'go')
  house.plugin('keyed', KEYED)
  const key = house.write('key', '')
  await house.spawn('refused', '--provider', 'keyed')
  rmSync(key)
  await sent(8, 'refused', 'go')
  await scenario('limited', LIMIT)
  await sent(7, 'limited', 'go')
  await scenario('timed_out', { delay_ms: 3_600_000 })
  await sent(12, 'timed_out', 'go', '--turn-timeout', '50ms')
  const interrupted = await scenario('interrupted', { delay_ms: 3_600_000 })
  const sending = house.start(['send', 'interrupted', 'go'])
  await house.waitForRecord(interrupted, 'model.requested')
  await sending.kill('SIGKILL')
  house.damage(await house.spawn('corrupt'), (log) => `x${log}`)
  await house.spawn('terminated')
  await house.ok('terminate', 'terminated')
  return house
}

type Named = { path: string | null; status: string; shown_status: string; children?: Named[] }

const wordsIn = (agents: readonly Named[]) =>
  agents.map((agent) => [agent.path, agent.shown_status, agent.status]).sort()

test('each reader has the same word for an agent, and the derived status beside it', async () => {
  const house = await everyKind()
  const wanted = WORDS.map(([word, status]) => [word, word, status]).sort()
  const { agents } = (await house.ok('list', '--all', '--json')).json
  expect(wordsIn(agents)).toEqual(wanted)

  const table = (await house.ok('list', '--all')).stdout.split('\n').slice(1, -1)
  expect(table.map((line) => [line.split(/ +/)[0], line.split(/ +/)[3]]).sort()).toEqual(
    WORDS.map(([word]) => [word, word]).sort(),
  )
  const tree = (await house.run(['tree', '--all', '--json'])).json
  const readable = wanted.filter(([word]) => word !== 'corrupt')
  expect(wordsIn(tree.agents)).toEqual(readable)
  expect(tree.stray).toMatchObject([{ status: 'corrupt', shown_status: 'corrupt' }])
  for (const [word] of readable.filter(([word]) => word !== 'terminated')) {
    const name = word as string
    expect((await house.ok('show', name, '--json')).json.agent.shown_status).toBe(name)
    expect((await house.ok('show', name)).stdout).toMatch(
      new RegExp(`^status +${name.replace('_', ' ')}$`, 'm'),
    )
    expect((await house.ok('list', '--status', name, '--json')).json.agents).toMatchObject([{ path: name }])
  }

  const served = await Served.start(house, '--read-only')
  const { data } = await served.call('listAgents', { query: { all: 'true' } })
  expect(wordsIn(data.agents)).toEqual(wanted)
  for (const typed of ['timed out', 'timed-out']) {
    const { data: slow } = await served.call('listAgents', { query: { status: typed } })
    expect(slow.agents).toMatchObject([{ path: 'timed_out' }])
  }
  const client = new EventClient(`${served.url}/v1/events?all=true`, {
    authorization: `Bearer ${served.token}`,
  })
  await waitFor(() => client.named('snapshot').length === 1, 'the snapshot')
  expect(wordsIn(client.named('snapshot')[0]?.data.agents)).toEqual(wanted)
  const metrics = await (await served.fetch('/metrics')).text()
  for (const [word] of WORDS) expect(metrics).toContain(`substrat_agents{status="${word}"} 1\n`)
  expect(metrics).toContain('substrat_turns_total{outcome="timed_out"} 1\n')
  await client.close()
  await served.stop()
})

test('list and the server name the same agents that need a person', async () => {
  const house = await everyKind()
  const listed = (await house.ok('list', '--status', 'needs_you', '--json')).json.agents
  expect(listed.map(({ path }: Named) => path).sort()).toEqual(NEED_PERSON.toSorted())
  const served = await Served.start(house, '--read-only')
  const { data } = await served.call('listAgents', { query: { status: 'needs_you' } })
  expect(data.agents).toEqual(listed)
  await served.stop()
})
