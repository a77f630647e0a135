import { randomUUID } from 'node:crypto'
import { type Bench, demand, type Facts, NO_SLOT, NO_SNAPSHOT, OPERATOR, raises } from './bench.js'
import { isDurable } from './leases.js'

export const RENEW_FACTS: Facts = {
  'a lease is renewed': async (bench) => {
    const { id, lease } = await bench.agent()
    demand((await renewed(bench, { agents: [[id, lease]] })).includes(lease))
    const [row] = await bench.rows(
      "select expires_at > clock_timestamp() + interval '290 s' as is_long from substrat.agent where id = $1",
      id,
    )
    demand(row?.is_long === true)
  },
  'a lease that another process has is not renewed': async (bench) => {
    const { id } = await bench.agent()
    demand((await renewed(bench, { agents: [[id, randomUUID()]] })).length === 0)
  },
  'a lease that is over is not renewed, also if no process has taken the agent': async (bench) => {
    const { id, lease } = await bench.agent({ leftMs: -1 })
    demand((await renewed(bench, { agents: [[id, lease]] })).length === 0)
  },
  'a renewal changes one agent': async (bench) => {
    const lease = randomUUID()
    const [{ id }] = [await bench.agent({ lease }), await bench.agent({ lease })]
    demand((await renewed(bench, { agents: [[id, lease]] })).length === 1)
  },
  'a renewal locks the agents in the order of their ids': async (bench) => {
    const [low, high] = [randomUUID(), randomUUID()].sort() as [string, string]
    const [last, first] = [await bench.agent({ id: high }), await bench.agent({ id: low })]
    const both = [last, first].map(({ id, lease }): [string, string] => [id, lease])
    await bench.one.query('begin')
    await bench.rows('select from substrat.agent where id = $1 for update', low)
    const renewal = renewed(bench, { agents: both }, bench.two)
    try {
      await bench.untilWaiting(renewal)
      await bench.three.query('select from substrat.agent where id = $1 for update nowait', [high])
    } finally {
      await bench.one.query('commit')
      await renewal
    }
  },
  'the right to a thing is renewed': async (bench) => {
    const [thing, lease] = await hold(bench)
    demand((await renewed(bench, { things: [[thing, lease]] })).includes(lease))
  },
  'the right to a thing that another process has is not renewed': async (bench) => {
    const [thing] = await hold(bench)
    demand((await renewed(bench, { things: [[thing, randomUUID()]] })).length === 0)
  },
  'the right to a thing that is over is not renewed': async (bench) => {
    const [thing, lease] = await hold(bench, -1)
    demand((await renewed(bench, { things: [[thing, lease]] })).length === 0)
  },
  'a renewal changes one thing': async (bench) => {
    const lease = randomUUID()
    const [[thing]] = [await hold(bench, 60_000, lease), await hold(bench, 60_000, lease)]
    demand((await renewed(bench, { things: [[thing, lease]] })).length === 1)
  },
  'a wait is renewed, and no other': async (bench) => {
    const [mine] = [await edge(bench), await edge(bench)]
    const got = await renewed(bench, { edges: [mine] })
    demand(got.length === 1 && got[0] === mine)
  },
  'a wait that is over is not renewed': async (bench) => {
    demand((await renewed(bench, { edges: [await edge(bench, -1)] })).length === 0)
  },
}

export const POST_FACTS: Facts = {
  'a message is there, and its recipient marked': async (bench) => {
    const { id } = await bench.agent()
    demand((await bench.put(id)) === true && (await bench.isMarked(id)) === true)
  },
  'a message is durable although the role turned it off': (bench) =>
    isDurable(bench, async () => bench.put((await bench.agent()).id)),
  'the operator has an inbox': async (bench) => demand((await bench.put(OPERATOR)) === true),
  'a message to an agent that does not exist is refused': (bench) => raises('SBGON', bench.put(randomUUID())),
  'a message beside the end of a holder leaves its recipient marked': async (bench) => {
    const { id, lease } = await bench.agent()
    await bench.call('mark', [id])
    await bench.crossing(
      () => bench.put(id),
      () => bench.call('rest', [id, lease, ...NO_SNAPSHOT, false, ...NO_SLOT], bench.two),
    )
    demand((await bench.isMarked(id)) === true)
  },
  'a message that is pending is not replaced': async (bench) => {
    const [{ id }, message] = [await bench.agent(), randomUUID()]
    await bench.put(id, { message })
    demand((await bench.put(id, { message, text: 'other' })) === false)
    const [row] = await bench.call('read_mail', [id, message, 'pending'])
    demand(String(row?.read_mail) === 'hello')
  },
  'a message that was removed can be sent again': async (bench) => {
    const [{ id }, message] = [await bench.agent(), randomUUID()]
    await bench.put(id, { message })
    await bench.call('move_mail', [id, message, 'pending', 'removed', randomUUID()])
    demand((await bench.put(id, { message })) === true)
  },
  'a message that is sent again after a lost answer has the first outcome': async (bench) => {
    const [{ id }, message, call] = [await bench.agent(), randomUUID(), randomUUID()]
    await bench.put(id, { message, call })
    demand((await bench.put(id, { message, call })) === true)
  },
  'the same call to another recipient is not taken for this one': async (bench) => {
    const [first, second] = [await bench.agent(), await bench.agent()]
    const [message, call] = [randomUUID(), randomUUID()]
    await bench.put(first.id, { message, call })
    await bench.put(second.id, { message })
    demand((await bench.put(second.id, { message, call })) === false)
  },
  'the same call with another message is not taken for this one': async (bench) => {
    const [{ id }, message, call] = [await bench.agent(), randomUUID(), randomUUID()]
    await bench.put(id, { call })
    await bench.put(id, { message })
    demand((await bench.put(id, { message, call })) === false)
  },
  'a message that the same call has moved is not pending': async (bench) => {
    const [{ id }, message, call] = [await bench.agent(), randomUUID(), randomUUID()]
    await bench.put(id, { message, call })
    await bench.call('move_mail', [id, message, 'pending', 'taken', call])
    demand((await bench.put(id, { message, call })) === false)
  },
}

type Pairs = [string, string][]

async function renewed(
  bench: Bench,
  { agents = [], things = [], edges = [] }: { agents?: Pairs; things?: Pairs; edges?: string[] },
  by = bench.one,
): Promise<unknown[]> {
  const columns = (pairs: Pairs) => [pairs.map(([key]) => key), pairs.map(([, lease]) => lease)]
  const rows = await bench.call('renew', [...columns(agents), ...columns(things), edges, 300_000], by)
  return rows.map(({ renew }) => renew)
}

async function hold(bench: Bench, leftMs = 60_000, lease: string = randomUUID()): Promise<[string, string]> {
  const thing = randomUUID()
  await bench.rows(
    "insert into substrat.hold values ($1, $2, '{}', clock_timestamp() + $3 * interval '1 ms')",
    thing,
    lease,
    leftMs,
  )
  return [thing, lease]
}

async function edge(bench: Bench, leftMs = 60_000): Promise<string> {
  const lease = randomUUID()
  await bench.rows(
    `insert into substrat.edge (lease, kind, agent_id, holder, expires_at)
       values ($1, 'arrival', $2, '{}', clock_timestamp() + $3 * interval '1 ms')`,
    lease,
    randomUUID(),
    leftMs,
  )
  return lease
}
