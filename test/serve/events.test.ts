/** The streams: each record once and in order, and each agent's latest state. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { EventClient } from './event-client.js'
import { Served } from './support.js'

function follow(served: Served, path: string, headers: Record<string, string> = {}): EventClient {
  return new EventClient(`${served.url}${path}`, { authorization: `Bearer ${served.token}`, ...headers })
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

test('the 513th stream is refused, and accepted once another has ended', async () => {
  const house = new House()
  await house.spawn('a')
  const served = await Served.start(house)
  const streams = Array.from({ length: 512 }, () => follow(served, '/v1/agents/a/events'))
  await waitFor(() => streams.every(({ opened }) => opened === 1), 'the streams')
  const refused = await served.fetch('/v1/agents/a/events')
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([503, 'SERVER_BUSY'])
  // Other requests are still answered.
  expect((await served.call('listAgents')).status).toBe(200)
  await streams.pop()?.close()
  await waitFor(async () => {
    const response = await served.fetch('/v1/agents/a/events')
    await response.body?.cancel()
    return response.ok
  }, 'a free place')
  await Promise.all(streams.map((stream) => stream.close()))
  await served.stop()
})

describe.concurrent('the events of an agent', () => {
  test('are its records, then each new one, also of commands outside of the server', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'one')
    const served = await Served.start(house)
    const client = follow(served, '/v1/agents/a/events')
    const before = house.records(id).length
    await waitFor(() => client.seqs.length === before, 'the records')
    await house.ok('send', 'a', 'two')
    await waitFor(() => client.seqs.length === house.records(id).length, 'the new records')
    expect(client.named('record').map(({ data }) => data)).toEqual(house.records(id))
    expect(client.seqs).toEqual(upTo(house.records(id).length))
    await client.close()
    await served.stop()
  })

  test('begin after Last-Event-ID or `after`, of which the first counts', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'one')
    const served = await Served.start(house)
    const count = house.records(id).length
    for (const [path, headers, first] of [
      ['/v1/agents/a/events?after=2', {}, 3],
      ['/v1/agents/a/events?after=2', { 'last-event-id': '4' }, 5],
    ] as const) {
      const client = follow(served, path, headers)
      await waitFor(() => client.seqs.at(-1) === count, 'the records')
      expect(client.seqs[0]).toBe(first)
      await client.close()
    }
    for (const [path, headers] of [
      [`/v1/agents/a/events?after=${count + 1}`, {}],
      ['/v1/agents/a/events', { 'last-event-id': 'x' }],
      ['/v1/agents/a/events?after=-1', {}],
    ] as const)
      expect((await served.fetch(path, { headers })).status).toBe(400)
    expect((await served.fetch('/v1/agents/nobody/events')).status).toBe(404)
    await served.stop()
  })

  test('have the text of a running turn without id, between the records that surround it', async () => {
    const house = new House()
    const pieces = [{ say: 'one ' }, { say: 'two ', after_file: 'go' }, { say: 'three' }]
    const id = await house.spawn('a', '-o', house.scenario('s.json', { pieces }))
    const served = await Served.start(house)
    const client = follow(served, '/v1/agents/a/events')
    await waitFor(() => client.seqs.length > 0, 'the first record')
    await served.post('/v1/agents/a/messages', { content: 'hi' })
    await waitFor(() => client.named('live').length === 1, 'the first piece')
    expect(client.named('live')[0]).toMatchObject({
      id: undefined,
      data: { agent: id, partial: true, content: 'one ' },
    })
    house.write('go', '')
    await house.waitForRecord(id, 'run.completed')
    await waitFor(() => client.seqs.length === house.records(id).length, 'the records')
    const order = client.events.map(({ event, data }) => (event === 'live' ? data.content : data.kind))
    expect(order.slice(order.indexOf('model.requested'), order.indexOf('message.agent') + 1)).toEqual([
      'model.requested',
      'status.derived',
      'one ',
      'two ',
      'three',
      'message.agent',
    ])
    await client.close()
    await served.stop()
  })

  test('come in order from a long log to clients that begin at different places', async () => {
    const house = new House()
    const id = await house.spawn('a')
    for (let sent = 0; sent < 12; sent += 1) await house.ok('send', 'a', `${sent} ${'x'.repeat(60_000)}`)
    const served = await Served.start(house)
    const count = house.records(id).length
    const clients = [0, 0, 3, count - 1, count].map((after) => ({
      after,
      client: follow(served, `/v1/agents/a/events?after=${after}`),
    }))
    await waitFor(() => clients.every(({ client, after }) => client.seqs.length === count - after), 'all')
    for (let sent = 0; sent < 25; sent += 1) await house.ok('send', 'a', `${sent} ${'y'.repeat(60_000)}`)
    const late = follow(served, '/v1/agents/a/events?after=7')
    const end = house.records(id).length
    await waitFor(
      () => [...clients, { client: late }].every(({ client }) => client.seqs.at(-1) === end),
      'end',
    )
    for (const { client, after } of [...clients, { client: late, after: 7 }]) {
      expect(client.seqs).toEqual(upTo(end).slice(after))
      await client.close()
    }
    await served.stop()
  })

  test('end with an event that says why when the agent is removed, and when the server stops', async () => {
    const house = new House()
    await house.spawn('a')
    await house.spawn('b')
    const served = await Served.start(house)
    const [a, b] = [follow(served, '/v1/agents/a/events'), follow(served, '/v1/agents/b/events')]
    await waitFor(() => a.seqs.length > 0 && b.seqs.length > 0, 'the records')
    await house.ok('terminate', 'a')
    await waitFor(() => a.named('record').some(({ data }) => data.kind === 'session.terminated'), 'the end')
    await house.ok('prune', '--older-than', '0s')
    await waitFor(() => a.ended === 1, 'the stream to end')
    expect(a.events.at(-1)).toMatchObject({
      event: 'closed',
      data: { reason: 'failed', problem: { code: 'AGENT_NOT_FOUND', status: 404 } },
    })
    await served.stop()
    await waitFor(() => b.ended === 1, 'the stream to end')
    expect(b.events.at(-1)).toMatchObject({
      event: 'closed',
      data: { reason: 'stopping', after: b.seqs.at(-1) },
    })
  })
})

describe.concurrent('the events of a home', () => {
  test('are all agents, then each that changed, and those that were removed', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.spawn('gone')
    await house.ok('terminate', 'gone')
    const served = await Served.start(house)
    const client = follow(served, '/v1/events')
    const all = follow(served, '/v1/events?all')
    await waitFor(() => client.events.length > 0 && all.events.length > 0, 'the snapshot')
    const listed = async (...args: string[]) =>
      (await house.ok('list', '--json', ...args)).json.agents.map((agent: { state: string }) => ({
        ...agent,
        shown_status: agent.state === 'terminated' ? 'terminated' : 'idle',
      }))
    expect(client.events[0]).toMatchObject({ event: 'snapshot', id: undefined })
    expect(client.events[0]?.data).toEqual({ agents: await listed() })
    expect(all.events[0]?.data).toEqual({ agents: await listed('--all') })

    const latest = (agentId: string) => client.events.findLast(({ data }) => data.id === agentId)
    await house.ok('send', 'a', 'hi')
    const wanted = JSON.stringify((await listed()).find((agent: { id: string }) => agent.id === id))
    await waitFor(() => JSON.stringify(latest(id)?.data) === wanted, 'the change')

    const made = await house.spawn('b')
    await waitFor(() => latest(made) !== undefined, 'the new agent')
    await house.ok('terminate', 'b')
    await waitFor(() => latest(made)?.data.state === 'terminated', 'the end of the agent')
    await house.ok('prune', '--older-than', '0s')
    await waitFor(() => latest(made)?.event === 'removed', 'the removal')
    await Promise.all([client.close(), all.close()])
    await served.stop()
  })

  test('begin before there is a home', async () => {
    const house = new House()
    const served = await Served.start(house, '--read-only')
    const client = follow(served, '/v1/events')
    await waitFor(() => client.events.length > 0, 'the snapshot')
    expect(client.events[0]).toMatchObject({ event: 'snapshot', data: { agents: [] } })
    const id = await house.spawn('a')
    await waitFor(() => client.named('agent').some(({ data }) => data.id === id), 'the new agent')
    await client.close()
    await served.stop()
  })
})
