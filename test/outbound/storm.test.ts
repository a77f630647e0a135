/**
 * Commands that notify a target of each kind are killed at random, while each target fails one time in three. `EVENTS=1000 SEED=1`
 * give each target so many events, and repeat a run.
 *
 * The oracle is the agents' logs beside what the targets have received: each queued message has one end, a message that was sent
 * was accepted, a message that comes twice has one id, and the messages of one agent to one target come in order.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Random } from '../support/random.js'
import { type Received, targetServer } from '../support/targets.js'

/** For each target. */
const EVENTS = Number(process.env.EVENTS ?? 6)
const FORMATS = ['json', 'slack', 'discord', 'ntfy'] as const
const TARGETS = [...FORMATS, 'program']
const AGENTS = Array.from({ length: EVENTS > 100 ? 8 : 2 }, (_, index) => `agent${index}`)
/** A kill within this time hits a command before its turn, within it, while it sends, or not at all. */
const KILLED_WITHIN_MS = 900
const NONE = { queued: 0, sent: 0, dropped: 0, twice: 0 }

/** Fails every third request, in turn by status, with a time to wait, and by a broken connection. */
function failing(accepted: Set<number>): (response: ServerResponse, index: number) => void {
  return (response, index) => {
    if (index % 3 !== 1) {
      accepted.add(index)
      response.end()
    } else if (index % 9 === 1) response.writeHead(503).end()
    else if (index % 9 === 4) response.writeHead(429, { 'retry-after': '0' }).end()
    else response.destroy()
  }
}

/** Takes an event on stdin, and fails for every third process id. */
const PROGRAM = 'body=$(cat); [ $(($$ % 3)) -ne 0 ] || exit 1; printf "%s\\n" "$body" >> "$0"'

test('no message is lost, one that comes twice has the same id, and each target gets the messages of an agent in order', async () => {
  const random = Random.announced(`notifications: EVENTS=${EVENTS}`)
  const house = House.ofProcesses()
  const servers = new Map<string, { accepted: Set<number>; received: Received[] }>()
  const on = ['completed', 'interrupted']
  const notify: object[] = [{ name: 'program', on, run: ['sh', '-c', PROGRAM, `${house.workspace}/taken`] }]
  mkdirSync(house.workspace, { recursive: true })
  for (const format of FORMATS) {
    const accepted = new Set<number>()
    const { url, received } = await targetServer(failing(accepted))
    servers.set(format, { accepted, received })
    const file = `${house.workspace}/url-${format}`
    writeFileSync(file, `${url}/topic`)
    notify.push({ name: format, on, format, url: { file } })
  }
  await house.ok('config', 'set', 'notify', JSON.stringify(notify))
  const ids = new Map<string, string>()
  for (const name of AGENTS) ids.set(name, await house.spawn(name))
  const turns = Math.ceil(EVENTS / AGENTS.length)
  let killed = 0

  const isKilled = async (...args: string[]): Promise<boolean> => {
    const command = house.start(args)
    const isDoomed = random.chance(0.6)
    const after = random.between(0, KILLED_WITHIN_MS)
    const first = await Promise.race([command.result, ...(isDoomed ? [sleep(after)] : [])])
    if (first !== undefined) return false
    await command.kill()
    killed += 1
    return true
  }

  await Promise.all(
    AGENTS.map(async (name) => {
      for (let turn = 0; turn < turns; turn++) {
        const send = ['send', name, `message ${turn}`, '--key', `k${turn}`]
        while (await isKilled(...send));
        // After three kills without progress, a turn continues only if a person says so.
        while ((await house.run(send)).exit !== 0) await house.run(['resume', name])
      }
    }),
  )
  const pending = async (): Promise<number> =>
    (await house.ok('outbox', '--json')).json.messages.filter(
      ({ state }: { state: string }) => state !== 'dropped',
    ).length
  while ((await pending()) > 0) await isKilled('deliver', '--all')

  const received: Record<string, { id: string; isAccepted: boolean }[]> = {
    program: (house.read('taken') ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => ({ id: JSON.parse(line).id as string, isAccepted: true })),
  }
  for (const [format, server] of servers)
    received[format] = server.received.map(({ headers }, at) => ({
      id: String(headers['idempotency-key']),
      isAccepted: server.accepted.has(at),
    }))
  const counts: Record<string, typeof NONE> = Object.fromEntries(TARGETS.map((name) => [name, { ...NONE }]))
  for (const [name, id] of ids) {
    const records = house.records(id)
    expect(records.filter(({ kind }) => kind === 'message.user')).toHaveLength(turns)
    const caused = records.filter(({ kind }) => kind === 'run.completed' || kind === 'run.interrupted')
    for (const target of TARGETS) {
      const count = counts[target] as typeof NONE
      const queued = records.flatMap((record) =>
        record.kind === 'outbound.queued' && record.target === target ? [record.outbound_id] : [],
      )
      expect(queued, `${name} to ${target}`).toHaveLength(caused.length)
      const ended = records.flatMap((record) =>
        record.kind === 'outbound.sent' || record.kind === 'outbound.dropped' ? [record] : [],
      )
      const acceptances =
        received[target]?.filter(({ isAccepted }) => isAccepted).map((each) => each.id) ?? []
      for (const each of queued) {
        const ends = ended.filter(({ outbound_id }) => outbound_id === each)
        expect(ends, `the end of ${each}`).toHaveLength(1)
        if (ends[0]?.kind === 'outbound.sent') expect(acceptances).toContain(each)
        count[ends[0]?.kind === 'outbound.sent' ? 'sent' : 'dropped'] += 1
      }
      const own = acceptances.filter((each) => queued.includes(each))
      const inOrder = [...new Set(own)]
      expect(inOrder, `the order of ${name} at ${target}`).toEqual(
        queued.filter((each) => inOrder.includes(each)),
      )
      count.queued += queued.length
      count.twice += own.length - inOrder.length
    }
  }
  const known = [...ids.values()].flatMap((id) =>
    house
      .records(id)
      .flatMap((record) => (record.kind === 'outbound.queued' ? [record.outbound_id as string] : [])),
  )
  for (const target of TARGETS) for (const { id } of received[target] ?? []) expect(known).toContain(id)
  expect(house.findings(true)).toEqual([])
  const said = Object.entries(counts).map(
    ([name, { queued, sent, dropped, twice }]) =>
      `${name}: ${queued} queued, ${sent} sent, ${dropped} dropped, ${twice} accepted twice with the same id`,
  )
  console.info([`seed ${random.seed}: ${killed} commands killed`, ...said].join('\n'))
})
