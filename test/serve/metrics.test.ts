/** The metrics: counts from the logs, each record once, with the same result in every server. */
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { waitFor } from '../support/wait.js'
import { Served } from './support.js'

const SHELL = { tools: [{ name: 'shell', input: { command: 'true' } }] }

async function scrape(served: Served): Promise<{ text: string; values: Map<string, number> }> {
  const response = await served.fetch('/metrics')
  expect(response.headers.get('content-type')).toBe(
    'application/openmetrics-text; version=1.0.0; charset=utf-8',
  )
  const text = await response.text()
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return {
    text,
    values: new Map(samples.map((line) => [line.replace(/ \S+$/, ''), Number(/\S+$/.exec(line)?.[0])])),
  }
}

test('tokens of a removed agent still count after a restart of the server', async () => {
  const house = new House()
  for (const name of ['a', 'b']) await house.spawn(name)
  for (const name of ['a', 'a', 'b']) await house.ok('send', name, 'one two')
  const tokens = async (): Promise<unknown[]> => {
    const served = await Served.start(house)
    const { values } = await scrape(served)
    return [...values].filter(([name]) => name.startsWith('substrat_tokens_total'))
  }
  const before = await tokens()
  expect(before).not.toEqual([])
  await house.ok('terminate', 'a')
  await house.ok('remove', 'a')
  expect(await tokens()).toEqual(before)
})

test('turns, waits, interruptions and retries are those of the logs, also after a restart of the server', async () => {
  const house = new House()
  await house.spawn('a')
  await house.ok('send', 'a', 'one')
  const served = await Served.start(house)
  const first = await scrape(served)
  expect(first.text).toMatch(/\n# EOF\n$/)
  expect(first.values.get('substrat_turns_total{outcome="completed"}')).toBe(1)
  expect(first.values.get('substrat_turns_total{outcome="failed"}')).toBe(0)

  await house.spawn('waits', '-o', house.scenario('w.json', SHELL))
  await house.run(['send', 'waits', 'hi'])
  await house.ok('token', 'rotate', 'waits')
  await house.spawn('fails', '-o', house.scenario('f.json', { fail: { type: 'invalid' } }))
  await house.run(['send', 'fails', 'hi'])
  const gate = new Gate(house, 'g')
  await house.spawn('killed', ...gate.flags)
  const sending = house.start(['send', 'killed', 'hi'])
  await gate.isReached()
  await sending.kill('SIGKILL')
  await house.run(['recover', '--all', '--continue', 'none'])

  const second = await scrape(served)
  const wanted = {
    'substrat_turns_total{outcome="completed"}': 1,
    'substrat_turns_total{outcome="failed"}': 1,
    'substrat_waits_total{kind="approval"}': 1,
    'substrat_interruptions_total{kind="process_exit"}': 1,
    'substrat_agents{status="waiting"}': 1,
    'substrat_agents{status="idle"}': 1,
  }
  expect(Object.fromEntries(second.values)).toMatchObject(wanted)
  for (const [name, value] of first.values)
    if (/_(total|count|bucket)/.test(name)) expect(second.values.get(name)).toBeGreaterThanOrEqual(value)
  await served.stop()

  const again = await Served.start(house)
  expect(Object.fromEntries((await scrape(again)).values)).toMatchObject(wanted)
  await again.stop()
})

test('the tokens and the cost are those of usage', async () => {
  const house = new House()
  for (const name of ['a', 'b']) {
    await house.spawn(name)
    await house.ok('send', name, 'hello there')
  }
  const served = await Served.start(house)
  const { values } = await scrape(served)
  const { total } = (await house.ok('usage', '--json')).json
  const sum = (prefix: string): number =>
    [...values].reduce((all, [name, value]) => (name.startsWith(prefix) ? all + value : all), 0)
  const ofType = (type: string): number =>
    [...values].reduce((all, [name, value]) => {
      return name.startsWith('substrat_tokens_total') && name.includes(`type="${type}"`) ? all + value : all
    }, 0)
  expect([ofType('input'), ofType('output')]).toEqual([total.input_tokens, total.output_tokens])
  expect(sum('substrat_cost_usd_total')).toBeCloseTo(total.cost_usd ?? 0)
  await served.stop()
})

test('a command that waits for a held agent is a lock wait, and one that fails is counted by its code', async () => {
  const house = new House()
  const gate = new Gate(house, 'g')
  const id = await house.spawn('a', ...gate.flags)
  const served = await Served.start(house)
  const sending = house.start(['send', 'a', 'hi'])
  await gate.isReached()
  const refused = await served.post(`/v1/agents/${id}/messages`, { content: 'x', if_busy: 'fail' })
  expect(refused.status).toBe(423)
  await waitFor(
    async () => (await scrape(served)).values.get('substrat_command_errors_total{code="LOCKED"}') === 1,
    'the error',
  )
  const { values } = await scrape(served)
  expect(values.get('substrat_lock_wait_seconds_count')).toBe(1)
  expect(values.get('substrat_fsync_seconds_count')).toBeGreaterThan(0)
  gate.open()
  await sending.result
  await served.stop()
})
