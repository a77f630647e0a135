/** Clients follow agents while the server and the writers are killed at random. `CLIENTS=200` makes them more. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { KillRun } from '../support/kill-run.js'
import { waitFor } from '../support/wait.js'
import { EventClient } from './event-client.js'
import { linked, Served } from './support.js'

const CLIENTS = Number(process.env.CLIENTS ?? 9)
const run = new KillRun('clients', 3)
const { random } = run
const AGENTS = 3

test('every client has every record once and in order, also when server and writers are killed at random', {
  timeout: run.timeoutMs,
}, async () => {
  run.begin()
  const house = new House()
  const ids: string[] = []
  for (let agent = 0; agent < AGENTS; agent += 1) ids.push(await house.spawn(`a${agent}`))
  let served = await Served.start(house)
  const listen = ['--listen', `127.0.0.1:${served.port}`]
  const follow = (id: string, pauseMs: number): EventClient =>
    new EventClient(
      `${served.url}/v1/agents/${id}/events`,
      { authorization: `Bearer ${served.token}` },
      true,
      pauseMs,
    )
  const clients = Array.from({ length: CLIENTS }, (_, index) => {
    const id = ids[index % AGENTS] as string
    return { id, client: follow(id, random.between(5, 105)) }
  })

  const killed = { server: 0, writer: 0 }
  let isOver = false
  const write = async (id: string): Promise<void> => {
    while (!isOver) {
      const writer = house.start(['send', id, 'x'.repeat(random.below(20_000))])
      if (random.chance(0.5)) {
        await sleep(random.between(0, 400))
        if ((await writer.kill('SIGKILL')).exit === 137) killed.writer += 1
      }
      await writer.result
    }
  }
  const writing = ids.map(write)
  while (killed.server < run.kills) {
    // The turn of this request must survive its server.
    const sent = served.post(`/v1/agents/${ids[0]}/messages`, { content: 'hi' }).catch(() => undefined)
    await sleep(random.between(0, 500))
    expect((await served.running.kill('SIGKILL')).exit).toBe(137)
    await sent
    killed.server += 1
    const running = house.start(['serve', ...listen], { env: linked(house) })
    if (random.chance(0.2)) {
      await sleep(random.between(0, 300))
      await running.kill('SIGKILL')
      killed.server += 1
      served = await Served.start(house, ...listen)
    } else served = await Served.of(house, running)
  }
  isOver = true
  await Promise.all(writing)
  await house.ok('recover', '--all')
  const isIdle = async (): Promise<boolean> =>
    (await house.ok('list', '--json')).json.agents.every(
      ({ status }: { status: string }) => status === 'idle',
    )
  await waitFor(isIdle, 'the last turns')

  const ends = new Map(ids.map((id) => [id, house.records(id)]))
  await waitFor(
    () => clients.every(({ id, client }) => client.seqs.at(-1) === ends.get(id)?.length),
    'the last record at every client',
  )
  for (const { id, client } of clients)
    expect(client.named('record').map(({ data }) => data)).toEqual(ends.get(id))
  const opened = clients.reduce((sum, { client }) => sum + client.opened, 0)
  const records = clients.reduce((sum, { client }) => sum + client.seqs.length, 0)
  run.report({
    servers: killed.server,
    writers: killed.writer,
    clients: CLIENTS,
    streams: opened,
    records,
  })
  await Promise.all(clients.map(({ client }) => client.close()))
  await served.stop()
})
