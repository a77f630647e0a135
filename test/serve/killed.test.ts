/**
 * Clients follow agents while the server and the writers are killed at random. `CLIENTS=200 KILLS=200 SEED=1` make it longer and
 * repeat it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { EventClient } from './event-client.js'
import { linked, Served } from './support.js'

const CLIENTS = Number(process.env.CLIENTS ?? 9)
const KILLS = Number(process.env.KILLS ?? 3)
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000)
const AGENTS = 3

/** Mulberry32: the same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

test('every client has every record once and in order, also when server and writers are killed at random', async () => {
  const random = randomFrom(SEED)
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
    return { id, client: follow(id, 5 + 100 * random()) }
  })

  const killed = { server: 0, writer: 0 }
  let isOver = false
  const write = async (id: string): Promise<void> => {
    while (!isOver) {
      const writer = house.start(['send', id, 'x'.repeat(20_000 * random())])
      if (random() < 0.5) {
        await sleep(400 * random())
        if ((await writer.kill('SIGKILL')).exit === 137) killed.writer += 1
      }
      await writer.result
    }
  }
  const writing = ids.map(write)
  while (killed.server < KILLS) {
    // The turn of this request must survive its server.
    const sent = served.post(`/v1/agents/${ids[0]}/messages`, { content: 'hi' }).catch(() => undefined)
    await sleep(500 * random())
    expect((await served.running.kill('SIGKILL')).exit).toBe(137)
    await sent
    killed.server += 1
    const running = house.start(['serve', ...listen], { env: linked(house) })
    if (random() < 0.2) {
      await sleep(300 * random())
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
  console.info(
    `seed ${SEED}: ${killed.server} servers and ${killed.writer} writers killed; ${CLIENTS} clients opened ${opened} streams and have ${records} records`,
  )
  await Promise.all(clients.map(({ client }) => client.close()))
  await served.stop()
})
