/** A turn that calls the tools of the tree is killed before each of its steps. The command that continues it repeats no effect. */
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { useScripts } from '../support/scripts.js'
import { agent, call, mails, of, type Response, results } from '../support/tool-agents.js'

const scripts = useScripts('killed-send-child.ts')
/** Kills at every n-th step. KILL_EVERY=1 kills at all steps, KILL_AT=n only at step n. */
const EVERY = Number(process.env.KILL_EVERY ?? 29)
const AT = Number(process.env.KILL_AT ?? 0)
/** Whether recovery or the same command continues first. Alternates, unless KILL_FIRST names one. */
const FIRST = process.env.KILL_FIRST
const JOBS = 3

interface Rehearsal {
  house: House
  ids: Record<string, string>
  steps: number
}

/** The home that each trial copies, and the number of steps of its turn. */
async function rehearse(
  calls: Response[],
  more: (house: House) => Promise<Record<string, string>>,
): Promise<Rehearsal> {
  const house = new House()
  const a = await agent(house, 'a', calls, '--allow', 'all')
  const ids = { a, ...(await more(house)) }
  const copy = house.copy()
  return { house, ids, steps: Number(await sent(copy, a, 0)) }
}

async function sent(house: House, id: string, n: number | string): Promise<string> {
  const child = scripts.start('killed-send-child.ts', [house.home, id, 'k', String(n)])
  const [said, [code, signal]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    once(child, 'exit'),
  ])
  expect([code, signal]).toEqual(n === 0 ? [0, null] : [null, 'SIGKILL'])
  return said
}

/** Kills the turn before the steps, then continues it with the same command, or with recovery first. */
async function sweep(
  { house, ids, steps }: Rehearsal,
  check: (house: House, at: string) => void,
): Promise<number> {
  const isMeant = (n: number): boolean => (AT === 0 ? n % EVERY === 1 || EVERY === 1 : n === AT)
  const points = Array.from({ length: steps }, (_, at) => at + 1).filter(isMeant)
  const queue = points.entries()
  const worker = async (): Promise<void> => {
    for (const [index, n] of queue) {
      const copy = house.copy()
      await sent(copy, ids.a as string, n)
      const found = copy.findings()
      const at = `killed before step ${n} of ${steps}`
      expect(found, at).toEqual([])
      if (FIRST === undefined ? index % 2 === 0 : FIRST === 'recover')
        await copy.run(['recover', '--all', '--continue', 'all'])
      const again = await copy.run(['send', 'a', 'go', '--key', 'k'])
      expect([at, again.exit, again.stdout]).toEqual([at, 0, 'a is done\n'])
      await copy.run(['recover', '--all', '--continue', 'all'])
      await copy.run(['deliver', '--all'])
      expect(copy.findings(true), at).toEqual([])
      check(copy, at)
    }
  }
  await Promise.all(Array.from({ length: JOBS }, worker))
  return points.length
}

function resultsOf(house: House, id: string): [string, string][] {
  return results(house, id).map(({ tool, text, isError }) => [tool, isError ? `error: ${text}` : text])
}

function idsIn(house: House): string[] {
  return Object.keys(house.logs())
}

describe('one message, one child, one reminder', () => {
  let rehearsal: Rehearsal
  beforeAll(async () => {
    const kid = { name: 'kid', prompt: 'begin', wait: true, options: { scenario: 'kid.json' } }
    rehearsal = await rehearse(
      [
        [call('spawn_agent', kid), call('send_message', { to: 'one', content: 'first', wait: true })],
        [
          call('send_message', { to: 'two', content: 'second' }),
          call('remind_me', { content: 'later', delay_seconds: 3600 }),
          call('set_metadata', { metadata: { progress: 'half' } }),
        ],
        'a is done',
      ],
      async (house) => {
        house.scenario('kid.json', { tools: [call('complete', { result: 'kid is done' })] })
        return {
          one: await agent(house, 'a/one', ['one says']),
          two: await agent(house, 'a/two', ['two says']),
        }
      },
    )
  })

  test("exist after a kill at any step of the turn, or of the other agent's turn in it", async () => {
    const { ids } = rehearsal
    const [a, one, two] = [ids.a, ids.one, ids.two] as [string, string, string]
    const count = await sweep(rehearsal, (house, at) => {
      const others = idsIn(house).filter((id) => !Object.values(ids).includes(id))
      expect(
        resultsOf(house, a).map(([tool, said]) => `${tool}: ${said.split(/ as|,| \(/)[0]}`),
        at,
      ).toEqual([
        'spawn_agent: kid is done',
        'send_message: one says',
        'send_message: sent',
        expect.stringMatching(/^remind_me: reminder/),
        'set_metadata: noted',
      ])
      expect(others, at).toHaveLength(1)
      const kid = others[0] as string
      expect(mails(house, one), at).toEqual(['request: first'])
      expect(mails(house, two), at).toEqual(['request: second'])
      expect(mails(house, kid), at).toEqual(['request: begin'])
      expect(mails(house, a).sort(), at).toEqual([
        'response: kid is done',
        'response: one says',
        'response: two says',
      ])
      expect(of(house, kid, 'session.terminated'), at).toHaveLength(1)
      expect(of(house, a, 'reminder.set'), at).toHaveLength(1)
      expect(of(house, a, 'message.agent').map(({ content }) => content)[0], at).toBe('a is done')
    })
    expect(count).toBeGreaterThan(AT === 0 ? 10 : 0)
  })
})

test('a child whose creation was killed is created by the repeated call', async () => {
  const house = new House()
  const id = await agent(house, 'a', [call('spawn_agent', { name: 'kid' }), 'a is done'], '--allow', 'tree')
  await sent(house, id, 'spawn.rename')
  expect(idsIn(house)).toEqual([id])
  expect(await house.run(['send', 'a', 'go', '--key', 'k'])).toMatchObject({ exit: 0, stdout: 'a is done\n' })
  expect(resultsOf(house, id)).toEqual([['spawn_agent', expect.stringMatching(/^made kid/)]])
  expect(idsIn(house)).toHaveLength(2)
})

describe('a control for a child', () => {
  let rehearsal: Rehearsal
  beforeAll(async () => {
    rehearsal = await rehearse(
      [
        'noted',
        [
          call('broadcast', { content: 'all of you' }),
          call('gate', { agent: 'one' }),
          call('subscribe', { agent: 'one', on: ['waiting'] }),
          call('permit_turn', { agent: 'one' }),
          call('poke', { agent: 'two' }),
        ],
        'a is done',
      ],
      async (house) => {
        const one = await agent(house, 'a/one')
        const two = await agent(house, 'a/two', [
          { fail: { type: 'invalid', attempts: 1 }, say: 'this time' },
        ])
        expect((await house.run(['send', 'a/two', 'try'])).exit).toBe(9)
        return { one, two }
      },
    )
  })

  test('is sent once after a kill at any step of the turn', async () => {
    const { ids } = rehearsal
    const [a, one, two] = [ids.a, ids.one, ids.two] as [string, string, string]
    await sweep(rehearsal, (house, at) => {
      expect(
        resultsOf(house, a).filter(([, said]) => said.startsWith('error')),
        at,
      ).toEqual([])
      expect(
        results(house, a).map(({ tool }) => tool),
        at,
      ).toEqual(['broadcast', 'gate', 'subscribe', 'permit_turn', 'poke'])
      for (const id of [one, two])
        expect(
          mails(house, id).filter((mail) => mail === 'notification: all of you'),
          at,
        ).toHaveLength(1)
      for (const kind of ['agent.gated', 'agent.watched', 'agent.permitted'] as const)
        expect(of(house, one, kind), at).toHaveLength(1)
      expect(of(house, two, 'agent.poked'), at).toHaveLength(1)
      expect(
        of(house, two, 'message.agent').filter(({ content }) => content === 'this time'),
        at,
      ).toHaveLength(1)
      expect(idsIn(house), at).toHaveLength(3)
    })
  })
})
