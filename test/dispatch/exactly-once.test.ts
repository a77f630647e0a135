/** A dozen agents, messages from several sides, and processes that are killed at random points. */
import { expect, test } from 'vitest'
import type { SessionRecord } from '../../src/session/records.js'
import { House, type Running } from '../support/cli.js'
import { msOf } from '../support/moments.js'

const KILLS = Number(process.env.KILLS ?? 10)
const SENDERS = 3
/** The same numbers at each run; where a kill lands is the machine's. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const QUEUED = /(?:queued|sent to \S+) as message ([0-9a-f-]{36})/

test(`${KILLS} kills at random points: every acknowledged message is delivered once, and answered`, async () => {
  const house = new House()
  const next = random(20261120)
  const roots = [await house.spawn('r0'), await house.spawn('r1')]
  const children: { id: string; parent: string }[] = []
  for (let n = 0; n < 10; n++) {
    const parent = roots[n % 2] as string
    children.push({ id: await house.spawn(`c${n}`, '--parent', `r${n % 2}`), parent })
  }
  // As long as four commands at once take on this machine, now: so kills land everywhere in them.
  const spreadMs = 4 * (await msOf(house, 'deliver', '--all'))
  const acknowledged: string[] = []
  let kills = 0
  let sends = 0

  /** A message of the person to any agent, or of a root to a child of its own. */
  function begin(): Running {
    const child = children[Math.floor(next() * children.length)] as { id: string; parent: string }
    const isPersons = next() < 0.5
    const to = isPersons && next() < 0.3 ? child.parent : child.id
    const from = isPersons ? [] : ['--from', child.parent]
    return house.start(['send', to, `message ${sends++}`, '--queue', ...from])
  }

  // On, where the machine was too slow for what was sent to be acknowledged before the kills.
  while (kills < KILLS || acknowledged.length <= KILLS / 2) {
    const batch = Array.from({ length: SENDERS }, begin)
    const recovery = house.start(['deliver', '--all'])
    const running = [...batch, recovery]
    await Promise.all(
      running.map(async (each) => {
        if (next() < 0.6) {
          const timer = setTimeout(() => each.child.kill('SIGKILL'), next() * spreadMs)
          await each.result
          clearTimeout(timer)
        }
        if ((await each.result).exit === 137) kills += 1
      }),
    )
    // Everything reported on stderr is durable, also if the command was killed after it.
    for (const { stderr } of batch) {
      const id = QUEUED.exec(stderr)?.[1]
      if (id !== undefined) acknowledged.push(id)
    }
  }
  const end = await house.run(['deliver', '--all'])
  expect(end.exit, end.stderr).toBe(0)
  expect((await house.run(['deliver', '--all'])).stdout).toBe('')

  const delivered = new Map<string, SessionRecord<'mail.delivered'>[]>()
  for (const id of [...roots, ...children.map((child) => child.id)]) {
    // The temp file of a killed sender stays for ten minutes, because its death is unknown.
    expect(house.inbox(id).filter((name) => !name.endsWith('.tmp'))).toEqual([])
    for (const record of house.records(id))
      if (record.kind === 'mail.delivered')
        delivered.set(record.message_id, [...(delivered.get(record.message_id) ?? []), record])
  }
  const { messages } = (await house.ok('inbox', '--json')).json
  const answered = new Set(messages.map((message: { reply_to: string }) => message.reply_to))
  for (const [, records] of delivered) for (const { reply_to } of records) answered.add(reply_to)
  for (const id of acknowledged) {
    expect(delivered.get(id), id).toHaveLength(1)
    expect(answered, id).toContain(id)
  }
  for (const [id, records] of delivered) expect(records, id).toHaveLength(1)
  expect(house.findings(true)).toEqual([])
  console.log(
    `${kills} kills, ${sends} sends, ${acknowledged.length} acknowledged, ${delivered.size} delivered`,
  )
})
