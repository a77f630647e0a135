/** The statements that carry what two or three carried before: the slot of a turn, and the end of it. */
import { randomUUID } from 'node:crypto'
import { type Bench, demand, type Facts, NO_SNAPSHOT, raises } from './bench.js'
import type { Mutation } from './mutations.js'

export const TURN_FACTS: Facts = {
  'an idle agent comes with a slot': async (bench) => {
    const agent = await bench.agent()
    await bench.left(agent)
    const thing = slotName()
    const row = await bench.takeWithSlot(agent.id, randomUUID(), [thing], randomUUID())
    demand(row.got === true && row.slot === thing && (await bench.isSlotHeld(thing)))
  },
  'an agent of a lost holder comes without a slot': async (bench) => {
    const { id } = await bench.agent({ leftMs: -1 })
    const thing = slotName()
    const row = await bench.takeWithSlot(id, randomUUID(), [thing], randomUUID())
    demand(row.got === true && row.slot === null && !(await bench.isSlotHeld(thing)))
  },
  'a take with a slot that is sent again has the same slot': async (bench) => {
    const agent = await bench.agent()
    await bench.left(agent)
    const [lease, slotLease, things] = [randomUUID(), randomUUID(), [slotName(), slotName()]]
    const first = await bench.takeWithSlot(agent.id, lease, things, slotLease)
    const again = await bench.takeWithSlot(agent.id, lease, things, slotLease)
    demand(first.slot === things[0] && again.slot === things[0])
  },
  'an agent comes without a slot if all are held': async (bench) => {
    const agent = await bench.agent()
    await bench.left(agent)
    const [thing] = await bench.slot()
    const row = await bench.takeWithSlot(agent.id, randomUUID(), [thing], randomUUID())
    demand(row.got === true && row.slot === null)
  },

  'an append releases the slot that its holder no longer uses': async (bench) => {
    const slot = await bench.slot()
    await bench.append(await bench.agent(), { slot })
    demand(!(await bench.isSlotHeld(slot[0])))
  },
  'a slot that another process has by now is not released': async (bench) => {
    const [thing] = await bench.slot()
    await bench.append(await bench.agent(), { slot: [thing, randomUUID()] })
    demand(await bench.isSlotHeld(thing))
  },
  'a holder that leaves releases the slot that it no longer uses': async (bench) => {
    const [{ id, lease }, slot] = [await bench.agent(), await bench.slot()]
    await bench.call('rest', [id, lease, ...NO_SNAPSHOT, false, ...slot])
    demand(!(await bench.isSlotHeld(slot[0])))
  },

  'the end of a turn is appended if the inbox has the messages that its holder knows': async (bench) => {
    const agent = await bench.agent()
    const mail = [randomUUID(), randomUUID(), randomUUID()].sort()
    for (const message of [mail[1], mail[0], mail[2]])
      await bench.put(agent.id, { message: message as string })
    demand((await bench.endTurn(agent, { mail })) === true && (await endOf(bench, agent.id)) === '8')
  },
  'the end of a turn is refused if a message came': async (bench) => {
    const agent = await bench.agent()
    await bench.put(agent.id)
    demand((await bench.endTurn(agent)) === false && (await endOf(bench, agent.id)) === '4')
  },
  'the end of a turn is refused if a message is just coming': async (bench) => {
    const agent = await bench.agent()
    const isDone = await bench.crossing(
      () => bench.put(agent.id),
      () => bench.endTurn(agent, { by: bench.two }),
    )
    demand(isDone === false && (await endOf(bench, agent.id)) === '4')
  },
  'the end of a turn is refused if a message that its holder knows is gone': async (bench) => {
    const agent = await bench.agent()
    const mail = [randomUUID()]
    demand((await bench.endTurn(agent, { mail })) === false && (await endOf(bench, agent.id)) === '4')
  },
  'the messages of other agents and those that were removed do not count': async (bench) => {
    const [agent, other, message] = [await bench.agent(), await bench.agent(), randomUUID()]
    await bench.put(other.id)
    await bench.put(agent.id, { message })
    await bench.call('move_mail', [agent.id, message, 'pending', 'removed', randomUUID()])
    demand((await bench.endTurn(agent)) === true)
  },
  'the end of a turn that is sent again has the first outcome, also if a message came since': async (
    bench,
  ) => {
    const [agent, batch] = [await bench.agent(), randomUUID()]
    await bench.endTurn(agent, { batch })
    await bench.put(agent.id)
    demand((await bench.endTurn(agent, { batch })) === true && (await endOf(bench, agent.id)) === '8')
  },
  'the end of a turn that left its agent is known when it is sent again, also under the next holder': async (
    bench,
  ) => {
    const [agent, batch] = [await bench.agent(), randomUUID()]
    await bench.endTurn(agent, { batch, leaves: true })
    const next = await bench.replaced(agent)
    demand((await bench.endTurn(agent, { batch, leaves: true })) === true)
    demand((await bench.leaseOf(agent.id)) === next.lease)
  },
  'a holder that was replaced learns it at the end of a turn, also if a message came': async (bench) => {
    const agent = await bench.agent()
    await bench.put(agent.id)
    await bench.replaced(agent)
    await raises('SBLST', bench.endTurn(agent))
  },
  'the end of a turn leaves the agent with its snapshot': async (bench) => {
    const agent = await bench.agent()
    await bench.call('mark', [agent.id])
    await bench.endTurn(agent, { leaves: true })
    const [row] = await bench.rows('select snapshot_log_bytes from substrat.agent where id = $1', agent.id)
    demand((await bench.leaseOf(agent.id)) === null && row?.snapshot_log_bytes === '8')
    demand((await bench.isMarked(agent.id)) === false)
  },
  'the end of a turn before another one leaves no agent': async (bench) => {
    const agent = await bench.agent()
    await bench.endTurn(agent)
    demand((await bench.leaseOf(agent.id)) === agent.lease)
  },
  'the end of a turn releases the slot': async (bench) => {
    const slot = await bench.slot()
    await bench.endTurn(await bench.agent(), { slot })
    demand(!(await bench.isSlotHeld(slot[0])))
  },
  'a refused end of a turn releases the slot': async (bench) => {
    const [agent, slot] = [await bench.agent(), await bench.slot()]
    await bench.put(agent.id)
    await bench.endTurn(agent, { slot })
    demand(!(await bench.isSlotHeld(slot[0])))
  },
}

const SENT_AGAIN = [
  'the end of a turn that is sent again has the first outcome, also if a message came since',
  'the end of a turn that left its agent is known when it is sent again, also under the next holder',
]

export const TURN_MUTATIONS: Mutation[] = [
  {
    in: 'take',
    drop: ' and (v_lease is null or v_lease = p_lease)',
    breaks: ['an agent of a lost holder comes without a slot'],
  },
  {
    in: 'take',
    drop: ' or v_lease = p_lease',
    breaks: ['a take with a slot that is sent again has the same slot'],
  },
  {
    in: 'take',
    drop: 'null::jsonb, v_slot,',
    put: 'null::jsonb, null::text,',
    breaks: ['an idle agent comes with a slot', 'a take with a slot that is sent again has the same slot'],
  },
  {
    in: 'take_hold',
    drop: 'where h.lease is null or h.expires_at <= clock_timestamp() or h.lease = any (p_dead)',
    breaks: ['an agent comes without a slot if all are held'],
  },
  {
    in: 'append',
    drop: 'perform substrat.release_hold(p_slot, p_slot_lease);',
    breaks: [
      'an append releases the slot that its holder no longer uses',
      'the end of a turn releases the slot',
    ],
  },
  {
    in: 'release_hold',
    drop: ' and h.lease = p_lease',
    breaks: ['a slot that another process has by now is not released'],
  },
  {
    in: 'rest',
    drop: 'perform substrat.release_hold(p_slot, p_slot_lease);',
    breaks: ['a holder that leaves releases the slot that it no longer uses'],
  },
  {
    in: 'end_turn',
    drop: 'if substrat.has_batch(p_agent, p_lease, p_batch, p_offset) then return true; end if;',
    breaks: SENT_AGAIN,
  },
  {
    in: 'end_turn',
    drop: 'perform substrat.assert_lease(p_agent, p_lease);',
    breaks: ['a holder that was replaced learns it at the end of a turn, also if a message came'],
  },
  {
    in: 'end_turn',
    drop: 'm.recipient = p_agent and ',
    breaks: [
      'the end of a turn is appended if the inbox has the messages that its holder knows',
      'the messages of other agents and those that were removed do not count',
      ...SENT_AGAIN,
      'the end of a turn leaves the agent with its snapshot',
    ],
  },
  {
    in: 'end_turn',
    drop: " and m.state = 'pending'",
    breaks: ['the messages of other agents and those that were removed do not count'],
  },
  {
    in: 'end_turn',
    drop: 'order by 1',
    put: 'order by 1 desc',
    breaks: ['the end of a turn is appended if the inbox has the messages that its holder knows'],
  },
  {
    in: 'end_turn',
    drop: 'if v_mail is distinct from p_mail then',
    put: 'if false then',
    breaks: [
      'the end of a turn is refused if a message came',
      'the end of a turn is refused if a message is just coming',
      'the end of a turn is refused if a message that its holder knows is gone',
    ],
  },
  {
    in: 'end_turn',
    drop: 'perform substrat.release_hold(p_slot, p_slot_lease);',
    breaks: ['a refused end of a turn releases the slot'],
  },
  {
    in: 'end_turn',
    drop: 'p_format, p_slot, p_slot_lease);',
    put: 'p_format, null, null);',
    breaks: ['the end of a turn releases the slot'],
  },
  {
    in: 'end_turn',
    drop: 'if p_leaves then',
    put: 'if false then',
    breaks: ['the end of a turn leaves the agent with its snapshot'],
  },
  {
    in: 'end_turn',
    drop: 'if p_leaves then',
    put: 'if true then',
    breaks: ['the end of a turn before another one leaves no agent'],
  },
]

function slotName(): string {
  return `slot/${randomUUID()}/0`
}

async function endOf(bench: Bench, id: string): Promise<unknown> {
  return (await bench.rows('select log_bytes from substrat.agent where id = $1', id))[0]?.log_bytes
}
