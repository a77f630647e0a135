/**
 * A turn with reasoning and tools is killed before each of its disk steps, and continued. The server never gets a result
 * without the reasoning of its response: it would refuse it.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import type { ScriptedAnswer } from '../support/model-server/scenario.js'
import { type ModelServer, startModelServer } from '../support/model-server/server.js'
import { useScripts } from '../support/scripts.js'
import { buildPlugin } from './built.js'
import { KEY, VARIANTS } from './support.js'

const scripts = useScripts('killed-send-child.ts', 'killed-fork-child.ts')
/** Kills at every n-th step. KILL_EVERY=1 kills at all steps. */
const EVERY = Number(process.env.KILL_EVERY ?? 7)
const JOBS = 3
/** Longer than a line of the log may be: its items go to a blob. */
const LONG = 'because of this, and of that. '.repeat(4000)

const ANSWERS: ScriptedAnswer[] = [
  {
    text: 'I look at both.',
    tool_calls: [
      { name: 'read_file', input: { path: 'a.txt' } },
      { name: 'set_metadata', input: { metadata: { progress: 'half' } } },
    ],
    order: [
      { think: 'first ' },
      { redacted: 'hidden' },
      'text',
      { think: 'then ' },
      'call',
      { think: 'and ' },
      'call',
    ],
  },
  {
    tool_calls: [{ name: 'read_file', input: { path: 'b.txt' } }],
    order: [{ think: LONG }, 'call'],
    event_characters: 5000,
  },
  { text: 'a is done', order: [{ think: 'so it is ' }, 'text'] },
]

describe.each(VARIANTS)('$api', ({ api, options }) => {
  const provider = api === 'messages' ? 'anthropic' : 'openai'
  const thinking = api === 'messages' ? ['--option', 'thinking=2048'] : []
  let server: ModelServer
  let house: House
  let source: string
  let id: string

  beforeAll(async () => {
    source = readFileSync(await buildPlugin(`provider-${provider}`), 'utf8')
    server = await startModelServer({ responses: ANSWERS })
    house = furnished(new House())
    house.write('key', KEY)
    house.write('a.txt', 'alpha')
    house.write('b.txt', 'beta')
    const all = { ...options(server.url), key_file: 'key' }
    const flags = Object.entries(all).flatMap(([name, value]) => ['--option', `${name}=${value}`])
    id = await house.spawn(
      'a',
      '--provider',
      provider,
      '--model',
      'm',
      '--allow',
      'all',
      ...flags,
      ...thinking,
    )
  })
  afterAll(() => server.close())

  function furnished(copy: House): House {
    copy.plugin(provider, source)
    return copy
  }

  async function sent(copy: House, n: number): Promise<string> {
    const plugin = `${copy.root}/${provider}`
    const child = scripts.start('killed-send-child.ts', [copy.home, id, 'k', String(n), plugin])
    const [said, [code, signal]] = await Promise.all([
      text(child.stdout as NodeJS.ReadableStream),
      once(child, 'exit'),
    ])
    expect([code, signal]).toEqual(n === 0 ? [0, null] : [null, 'SIGKILL'])
    return said
  }

  test('a turn killed at any step ends with the reasoning of each of its responses', async () => {
    const steps = Number(await sent(furnished(house.copy()), 0))
    expect(steps).toBeGreaterThan(40)
    const points = Array.from({ length: steps }, (_, at) => at + 1).filter(
      (n) => n % EVERY === 1 || EVERY === 1,
    )
    const queue = points.entries()
    const worker = async (): Promise<void> => {
      for (const [index, n] of queue) {
        const at = `killed before step ${n} of ${steps}`
        const copy = furnished(house.copy())
        await sent(copy, n)
        expect(copy.findings(), at).toEqual([])
        if (index % 2 === 0) await copy.run(['recover', '--all', '--continue', 'all'])
        const again = await copy.run(['send', 'a', 'go', '--key', 'k'])
        expect([at, again.exit, again.stdout]).toEqual([at, 0, 'a is done\n'])
        expect(copy.findings(true), at).toEqual([])
        // The next turn gives back the reasoning of the whole turn before it.
        const next = await copy.run(['send', 'a', 'and now?'])
        expect([at, next.exit, next.stderr]).toEqual([at, 0, ''])
        const body = JSON.stringify(server.requests.findLast(({ place }) => place === 3)?.body)
        expect(body, at).toContain(LONG)
      }
    }
    await Promise.all(Array.from({ length: JOBS }, worker))
    expect(server.refusals()).toEqual([])
    expect(server.requests.filter(({ status }) => status !== 200)).toEqual([])
    // Killed and continued requests included: each sweep point asks again at least once.
    expect(server.requests.length).toBeGreaterThan(points.length * 2)
  })

  test('long reasoning is in a blob, and short reasoning in the record', async () => {
    const copy = furnished(house.copy())
    await sent(copy, 0)
    const responses = copy.records(id).filter((record) => record.kind === 'model.responded')
    expect(responses.map(({ items, items_blob }) => [items !== undefined, items_blob !== undefined])).toEqual(
      [
        [true, false],
        [false, true],
        [true, false],
      ],
    )
  })

  test('log shows one line for the reasoning, and no reply contains it', async () => {
    const copy = furnished(house.copy())
    expect((await copy.ok('send', 'a', 'go')).stdout).toBe('a is done\n')
    const { stdout } = await copy.ok('log', 'a')
    expect(stdout.match(/reasoning: \d+ bytes, kept for the provider/g)).toHaveLength(3)
    expect(stdout).not.toContain('so it is')
    const { json } = await copy.ok('export', 'a', '--json')
    expect(
      json.messages.map(({ role, content }: { role: string; content: string }) => [role, content]),
    ).toEqual([
      ['user', 'go'],
      ['assistant', 'I look at both.'],
      ['assistant', 'a is done'],
    ])
    const markdown = (await copy.ok('export', 'a')).stdout
    expect(markdown.match(/<details><summary>Reasoning<\/summary>/g)).toHaveLength(2)
  })

  async function forked(copy: House, n: number): Promise<string> {
    const plugin = `${copy.root}/${provider}`
    const child = scripts.start('killed-fork-child.ts', [copy.home, id, 'b', String(n), plugin])
    const [said, [code, signal]] = await Promise.all([
      text(child.stdout as NodeJS.ReadableStream),
      once(child, 'exit'),
    ])
    expect([code, signal]).toEqual(n === 0 ? [0, null] : [null, 'SIGKILL'])
    return said
  }

  test('a fork killed at any step is complete or missing, and a complete one gives back the reasoning', async () => {
    const base = furnished(house.copy())
    await base.ok('send', 'a', 'go')
    const steps = Number(await forked(furnished(base.copy()), 0))
    expect(steps).toBeGreaterThan(10)
    const points = Array.from({ length: steps }, (_, at) => at + 1).filter(
      (n) => n % EVERY === 1 || EVERY === 1,
    )
    const before = server.requests.length
    const worker = async (queue: Iterator<number>): Promise<void> => {
      for (let next = queue.next(); next.done !== true; next = queue.next()) {
        const at = `killed before step ${next.value} of ${steps}`
        const copy = furnished(base.copy())
        await forked(copy, next.value)
        expect(copy.findings(), at).toEqual([])
        const again = await copy.run(['fork', 'a', '--name', 'b'])
        expect([0, 13], `${at}: ${again.stderr}`).toContain(again.exit)
        const said = await copy.run(['send', 'b', 'and now?'])
        expect([at, said.exit, said.stderr]).toEqual([at, 0, ''])
        expect(copy.findings(true), at).toEqual([])
      }
    }
    const queue = points.values()
    await Promise.all(Array.from({ length: JOBS }, () => worker(queue)))
    expect(server.refusals()).toEqual([])
    const requests = server.requests.slice(before)
    expect(requests).toHaveLength(points.length)
    for (const { status, place, body } of requests) {
      expect([status, place]).toEqual([200, 3])
      expect(JSON.stringify(body)).toContain(LONG)
      expect(JSON.stringify(body)).toContain('so it is ')
    }
  })

  test('a fork of a fork gives back the reasoning, and a fork with another provider gets none of it', async () => {
    const copy = furnished(house.copy())
    await copy.ok('send', 'a', 'go')
    await copy.ok('fork', 'a', '--name', 'b')
    await copy.ok('fork', 'b', '--name', 'c')
    await copy.ok('send', 'c', 'and now?')
    const body = JSON.stringify(server.requests.at(-1)?.body)
    expect(body).toContain(LONG)
    expect(body).toContain('so it is ')
    expect(server.refusals()).toEqual([])
    const other = (await copy.ok('fork', 'c', '--provider', 'scripted')).stdout.trim()
    const [, seeded] = copy.records(other)
    expect(seeded).toMatchObject({ kind: 'session.seeded', content: expect.stringContaining('a is done') })
    expect(copy.log(other)).not.toMatch(/items|conversation"|so it is|because of this/)
    expect(copy.findings(true)).toEqual([])
  })
})
