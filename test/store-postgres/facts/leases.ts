import { randomUUID } from 'node:crypto'
import { type Bench, demand, type Facts, NO_SLOT, raises } from './bench.js'

const DUPLICATE = '23505'

export const LEASE_FACTS: Facts = {
  'a free agent is taken, marked, and held for its time': async (bench) => {
    const { id } = await bench.agent()
    await bench.left({ id, lease: '' })
    const lease = randomUUID()
    demand((await bench.take(id, lease)) === true)
    demand((await bench.leaseOf(id)) === lease && (await bench.isMarked(id)) === true)
    const [row] = await bench.rows(
      "select expires_at > clock_timestamp() + interval '10 s' as is_long from substrat.agent where id = $1",
      id,
    )
    demand(row?.is_long === true)
  },
  'an agent with a holder is not taken': async (bench) => {
    const { id, lease } = await bench.agent()
    demand((await bench.take(id, randomUUID())) === false && (await bench.leaseOf(id)) === lease)
  },
  'of two that take an agent at the same moment, one gets it': async (bench) => {
    const { id } = await bench.agent({ leftMs: -1 })
    const first = randomUUID()
    const got = await bench.crossing(
      () => bench.take(id, first),
      () => bench.take(id, randomUUID(), null, bench.two),
    )
    demand(got === false && (await bench.leaseOf(id)) === first)
  },
  'an agent that does not exist is not taken': (bench) =>
    raises('SBGON', bench.take(randomUUID(), randomUUID())),
  'a take that is sent again gets the agent again': async (bench) => {
    const { id, lease } = await bench.agent()
    demand((await bench.take(id, lease)) === true)
  },
  'the lease of a dead holder is taken at once': async (bench) => {
    const { id, lease } = await bench.agent()
    demand((await bench.take(id, randomUUID(), lease)) === true)
  },
  'a lease that is over is taken': async (bench) => {
    const { id } = await bench.agent({ leftMs: -1 })
    demand((await bench.take(id, randomUUID())) === true)
  },
  'a take changes one agent': async (bench) => {
    const [{ id }, other] = [await bench.agent({ leftMs: -1 }), await bench.agent()]
    await bench.take(id, randomUUID())
    demand((await bench.leaseOf(other.id)) === other.lease)
  },
  'a host that takes an agent is not gone': async (bench) => {
    const boot = randomUUID()
    await bench.call('declare_gone', [boot, '{}'])
    const { id } = await bench.agent({ leftMs: -1 })
    await bench.takeWithSlot(id, randomUUID(), null, randomUUID(), { boot })
    demand((await bench.rows('select from substrat.gone_host where kernel_boot_id = $1', boot)).length === 0)
  },

  'an append changes one agent': async (bench) => {
    const [held, other] = [await bench.agent(), await bench.agent()]
    await bench.append(held)
    demand((await endOf(bench, other.id)) === '4')
  },
  'an append is durable although the role turned it off': (bench) =>
    isDurable(bench, async () => bench.append(await bench.agent())),
  'an append of a holder that was replaced is refused, also if the next holder has written nothing': async (
    bench,
  ) => {
    const held = await bench.agent()
    await bench.replaced(held)
    await raises('SBLST', bench.append(held))
  },
  'an append with a lease that is over is refused, also if no process has taken the agent': async (bench) =>
    raises('SBLST', bench.append(await bench.agent({ leftMs: -1 }))),
  'an append to an agent that was removed is refused': (bench) =>
    raises('SBGON', bench.append({ id: randomUUID(), lease: randomUUID() })),
  'an append at another end of the log is refused': async (bench) =>
    raises('SBEND', bench.append(await bench.agent(), { offset: 3 })),
  'an append that is sent again is there once': async (bench) => {
    const [held, batch] = [await bench.agent(), randomUUID()]
    await bench.append(held, { batch })
    await bench.append(held, { batch })
    demand((await endOf(bench, held.id)) === '8')
  },
  'an append that is sent again waits for the first attempt': async (bench) => {
    const [held, batch] = [await bench.agent(), randomUUID()]
    await bench.crossing(
      () => bench.append(held, { batch }),
      () => bench.append(held, { batch, by: bench.two }),
    )
    demand((await endOf(bench, held.id)) === '8')
  },
  'another batch with the same bytes at the same place is refused': async (bench) => {
    const held = await bench.agent()
    await bench.append(held)
    await raises('SBEND', bench.append(held))
  },
  'the batch of another agent is not taken for this one': async (bench) => {
    const lease = randomUUID()
    const [held, other, batch] = [await bench.agent({ lease }), await bench.agent({ lease }), randomUUID()]
    await bench.append(held, { batch })
    await raises(DUPLICATE, bench.append(other, { batch }))
  },
  'the same batch at another place is refused': async (bench) => {
    const [held, batch] = [await bench.agent(), randomUUID()]
    await bench.append(held, { batch })
    await raises(DUPLICATE, bench.append(held, { batch, offset: 8 }))
  },
  'the batch of another lease is not taken for this one': async (bench) => {
    const [held, batch] = [await bench.agent(), randomUUID()]
    await bench.append(held, { batch })
    await raises('SBEND', bench.append(await bench.replaced(held), { batch }))
  },
  'an append of an older program does not lower the format of the home': async (bench) => {
    const format = async () => (await bench.rows('select format from substrat.home'))[0]?.format as number
    const before = await format()
    await bench.append(await bench.agent(), { format: before - 1 })
    demand((await format()) === before)
  },
  'a snapshot of a longer log is refused at the end of a visit': async (bench) => {
    const { id, lease } = await bench.agent()
    await raises('SBEND', bench.call('rest', [id, lease, Buffer.from('{}'), 5, 0, false, ...NO_SLOT]))
  },
  'a blob of a holder that is just being replaced is refused': async (bench) => {
    const held = await bench.agent()
    const write = bench.crossing(
      () => bench.replaced(held),
      () => bench.call('write_blob', [held.id, held.lease, Buffer.from('x')], bench.two),
    )
    await raises('SBLST', write)
  },
}

async function endOf(bench: Bench, id: string): Promise<unknown> {
  return (await bench.rows('select log_bytes from substrat.agent where id = $1', id))[0]?.log_bytes
}

/** Whether a commit after `act` waits for the disk. */
export async function isDurable(bench: Bench, act: () => Promise<unknown>): Promise<void> {
  await bench.one.query('set synchronous_commit = off; begin')
  await act()
  const [row] = await bench.rows('show synchronous_commit')
  await bench.one.query('rollback')
  demand(row?.synchronous_commit === 'on')
}
