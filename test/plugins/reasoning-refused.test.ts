/**
 * A service that does not take reasoning back, because something before it has changed: the request is repeated without it, the log
 * says so, and no later request has it. Killed before each of the disk steps.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ModelMessage } from '../../src/provider/contract.js'
import { House } from '../support/cli.js'
import type { ScriptedAnswer } from '../support/model-server/scenario.js'
import { type ModelServer, startModelServer } from '../support/model-server/server.js'
import { useScripts } from '../support/scripts.js'
import { buildPlugin } from './built.js'
import { callsOf, collect, failureOf, KEY, requestFor, VARIANTS } from './support.js'

const scripts = useScripts('killed-send-child.ts')
/** Kills at every n-th step. KILL_EVERY=1 kills at all steps. */
const EVERY = Number(process.env.KILL_EVERY ?? 7)
const JOBS = 3
const READS = [{ name: 'read_file', input: { path: 'a.txt' } }]

const ANSWERS: ScriptedAnswer[] = [
  { text: 'I look.', tool_calls: READS, order: [{ think: 'thought-1 ' }, 'text', 'call'] },
  { text: 'ready', order: [{ think: 'thought-2 ' }, 'text'] },
  { tool_calls: READS, order: [{ think: 'thought-3 ' }, 'call'] },
  { text: 'a is done', order: [{ think: 'thought-4 ' }, 'text'] },
]
const REFUSED = 'the service refused the reasoning of earlier responses; it was left out'

describe.each(VARIANTS.filter(({ api }) => api !== 'chat'))('$api', ({ api, provider, options }) => {
  const name = api === 'messages' ? 'anthropic' : 'openai'
  const thinking = api === 'messages' ? ['--option', 'thinking=2048'] : []
  let server: ModelServer
  let house: House
  let source: string
  let id: string

  /** Its first turn has reasoning, and a tool. */
  beforeAll(async () => {
    source = readFileSync(await buildPlugin(`provider-${name}`), 'utf8')
    server = await startModelServer({ responses: ANSWERS, is_bound: true })
    house = furnished(new House())
    house.write('key', KEY)
    house.write('a.txt', 'alpha')
    const all = Object.entries({ ...options(server.url), key_file: 'key' })
    const flags = all.flatMap(([option, value]) => ['--option', `${option}=${value}`])
    const model = ['--provider', name, '--model', 'm', '--allow', 'all']
    id = await house.spawn('a', ...model, ...flags, ...thinking)
    await house.ok('send', 'a', 'begin')
  })
  afterAll(() => server.close())

  function furnished(copy: House): House {
    copy.plugin(name, source)
    return copy
  }

  async function changed(): Promise<House> {
    const copy = furnished(house.copy())
    await copy.ok('set', 'a', '--system', 'Be brief.')
    return copy
  }

  function statusesSince(at: number): number[] {
    return server.requests.slice(at).map(({ status }) => status)
  }

  async function sent(copy: House, n: number): Promise<string> {
    const plugin = `${copy.root}/${name}`
    const child = scripts.start('killed-send-child.ts', [copy.home, id, 'k', String(n), plugin])
    const [said, [code, signal]] = await Promise.all([
      text(child.stdout as NodeJS.ReadableStream),
      once(child, 'exit'),
    ])
    expect([code, signal]).toEqual(n === 0 ? [0, null] : [null, 'SIGKILL'])
    return said
  }

  test('unchanged reasoning is taken back', async () => {
    const copy = furnished(house.copy())
    const at = server.requests.length
    expect((await copy.ok('send', 'a', 'go')).stdout).toBe('a is done\n')
    expect(statusesSince(at)).toEqual([200, 200])
    expect(JSON.stringify(server.requests.at(-1)?.body)).toMatch(/thought-1 .*thought-2 .*thought-3 /)
  })

  test('after a change of the system prompt one request is repeated without the reasoning, and the log says so', async () => {
    const copy = await changed()
    const at = server.requests.length
    expect((await copy.ok('send', 'a', 'go')).stdout).toBe('a is done\n')
    expect(statusesSince(at)).toEqual([400, 200, 200])
    const bodies = server.requests.slice(at).map(({ body }) => JSON.stringify(body))
    expect(bodies[0]).toMatch(/thought-1 .*thought-2 /)
    expect(bodies[1]).not.toMatch(/thought-[12] |encrypted_content":"/)
    expect(bodies[2]).not.toMatch(/thought-[12] /)
    expect(bodies[2]).toContain('thought-3 ')
    expect((await copy.ok('send', 'a', 'and now?')).exit).toBe(0)
    expect(statusesSince(at)).toEqual([400, 200, 200, 200])
    expect(JSON.stringify(server.requests.at(-1)?.body)).toMatch(/thought-3 .*thought-4 /)
    const responses = copy.records(id).filter((record) => record.kind === 'model.responded')
    expect(responses.map(({ items_refused }) => items_refused)).toEqual([
      undefined,
      undefined,
      true,
      undefined,
      undefined,
    ])
    expect((await copy.ok('log', 'a')).stdout.match(new RegExp(REFUSED, 'g'))).toHaveLength(1)
    expect(server.refusals()).toEqual([])
  })

  test('a fork does not give back reasoning that was refused', async () => {
    const copy = await changed()
    await copy.ok('send', 'a', 'go')
    await copy.ok('fork', 'a', '--name', 'b')
    const at = server.requests.length
    await copy.ok('send', 'b', 'and now?')
    expect(statusesSince(at)).toEqual([200])
    expect(JSON.stringify(server.requests.at(-1)?.body)).not.toMatch(/thought-[12] /)
  })

  test('a turn killed at any step ends with its reply, and no later request is refused', async () => {
    const base = await changed()
    const steps = Number(await sent(furnished(base.copy()), 0))
    expect(steps).toBeGreaterThan(25)
    const points = Array.from({ length: steps }, (_, at) => at + 1)
    const queue = points.filter((n) => n % EVERY === 1 || EVERY === 1).values()
    const worker = async (): Promise<void> => {
      for (const n of queue) {
        const at = `killed before step ${n} of ${steps}`
        const copy = furnished(base.copy())
        await sent(copy, n)
        expect(copy.findings(), at).toEqual([])
        const again = await copy.run(['send', 'a', 'go', '--key', 'k'])
        expect([at, again.exit, again.stdout]).toEqual([at, 0, 'a is done\n'])
        const count = copy.log(id).match(/"items_refused":true/g)?.length
        const next = await copy.run(['send', 'a', 'and now?'])
        expect([at, next.exit, next.stderr]).toEqual([at, 0, ''])
        expect([at, count, copy.log(id).match(/"items_refused":true/g)?.length]).toEqual([at, 1, 1])
        expect(copy.findings(true), at).toEqual([])
      }
    }
    await Promise.all(Array.from({ length: JOBS }, worker))
    // Requests with the reasoning were refused, but none of those without it.
    expect(server.refusals()).toEqual([])
  })

  test('after a compaction the reasoning that it keeps is left out once refused', async () => {
    const copy = furnished(house.copy())
    const overflow = { ...ANSWERS[2], fault: { error: 'overflow' as const, attempts: 1 } }
    const summary = { includes: 'summar', text: 'They looked at a.txt.' }
    const answers = [ANSWERS[0], ANSWERS[1], overflow, ANSWERS[3]] as ScriptedAnswer[]
    server.setScenario({ responses: answers, rules: [summary], is_bound: true })
    const at = server.requests.length
    const { exit, stderr } = await copy.run(['send', 'a', 'go far'])
    expect([exit, stderr]).toEqual([0, expect.stringMatching(/compact/)])
    expect(copy.kinds(id)).toContain('context.compacted')
    await copy.ok('send', 'a', 'and now?')
    expect(statusesSince(at).slice(-1)).toEqual([200])
    expect(server.refusals()).toEqual([])
    server.setScenario({ responses: ANSWERS, is_bound: true })
  })

  test('a service that refuses also the request without reasoning fails it after two requests', async () => {
    server.setScenario({ responses: ANSWERS })
    const events = await collect(provider, requestFor(options(server.url), 'begin'))
    const items = events.flatMap((event) => (event.type === 'item' ? [event.item] : []))
    const history: ModelMessage[] = [
      { role: 'user', content: 'begin' },
      { role: 'assistant', content: 'I look.', tool_calls: callsOf(events), items },
      ...callsOf(events).map(({ call_id, name: tool }) => ({
        role: 'tool' as const,
        call_id,
        name: tool,
        content: 'alpha',
        is_error: false,
      })),
    ]
    server.setScenario(() => ({
      fault: { error: 'unbound', message: 'The encrypted content is not valid.' },
    }))
    const at = server.requests.length
    const { failure } = await failureOf(() => collect(provider, requestFor(options(server.url), history)))
    expect(failure.type).toBe('invalid')
    expect(statusesSince(at)).toEqual([400, 400])
    const plain = history.map((message) => ({ ...message, items: undefined })) as ModelMessage[]
    await failureOf(() => collect(provider, requestFor(options(server.url), plain.slice(0, 1))))
    expect(statusesSince(at)).toEqual([400, 400, 400])
    server.setScenario({ responses: ANSWERS, is_bound: true })
  })
})
