import { hostname, userInfo } from 'node:os'
import { describe, expect, test } from 'vitest'

import { ownIdentity } from '../../src/host/identity.js'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'

const HOST_ID = ownIdentity().host_id
const ME = {
  uid: process.getuid?.(),
  user: userInfo().username,
  face: 'cli',
  ...(HOST_ID === undefined ? {} : { host_id: HOST_ID }),
}

/** The process of the latest run. */
function bootOf(house: House, id: string): string | undefined {
  return house.records(id).findLast((record) => record.kind === 'run.started')?.boot_id
}

describe.concurrent('show', () => {
  test('prints with --json exactly the documented object', async () => {
    const house = new House()
    const id = await house.spawn('a', '--system', 'Be brief.', '--model', 'm')
    await house.ok('set', 'a', '--title', 'A line')
    await house.ok('send', 'a', 'hello')
    const { json } = await house.ok('show', 'a', '--json')
    expect(json).toStrictEqual({
      agent: {
        id,
        name: 'a',
        path: 'a',
        title: 'A line',
        parent: null,
        provider: 'scripted',
        model: 'm',
        state: 'suspended',
        status: 'idle',
        shown_status: 'idle',
        workspace: house.workspace,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        last_seq: house.records(id).length,
        inbox: 0,
      },
      run: {
        id: expect.any(String),
        status: 'completed',
        started_at: expect.any(String),
        ended_at: expect.any(String),
        usage: { input_tokens: 1, output_tokens: 2 },
      },
      reply: 'echo: hello',
      reply_is: 'final',
      prompt: 'hello',
      preview: 'echo: hello',
      doing: [],
      wait: null,
      title: 'A line',
      topic: 'A line',
      instructions: 'Be brief.',
      options: {},
      format: 2,
      hold: false,
      gate: { gated: false, permits: 0 },
      grants: [],
      context: 'all',
      metadata: {},
      reminders: [],
      watchers: [],
      last_boot_seen: bootOf(house, id),
      host: HOST_ID === undefined ? null : { host_id: HOST_ID, host_name: hostname() },
      usage: { input_tokens: 1, output_tokens: 2, runs: 1, runs_with_usage: 1, runs_with_cost: 0 },
      holder: null,
      acts: [
        { did: 'asked', at: expect.any(String), actor: ME },
        { did: 'changed', at: expect.any(String), actor: ME },
        { did: 'created', at: expect.any(String), actor: ME },
      ],
      trouble: null,
      next: "substrat send a '…'",
    })
  })

  test('has the first words of the first message as the topic of an agent without a title', async () => {
    const house = new House()
    await house.spawn('untold')
    const topic = async (name: string) => (await house.ok('show', name, '--json')).json.topic
    expect(await topic('untold')).toBeNull()
    await house.ok('send', 'untold', `\n  Count  the words of ${'every '.repeat(20)}page\nand more`)
    await house.ok('send', 'untold', 'Something else')
    expect(await topic('untold')).toBe(
      'Count the words of every every every every every every every every every every…',
    )
    await house.ok('set', 'untold', '--title', 'Words')
    expect(await topic('untold')).toBe('Words')
  })

  test('shows the holder of a running turn, its start, and the next command', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'one'])
    await gate.isReached()
    const [person, program] = await Promise.all([house.ok('show', 'a'), house.ok('show', 'a', '--json')])
    expect(person.stdout).toMatch(/^status +running$/m)
    expect(person.stdout).toMatch(
      new RegExp(`^held by +pid ${sender.pid} on \\S+ since [-\\d]+ [\\d:]+Z \\(substrat send\\)$`, 'm'),
    )
    expect(person.stdout).toMatch(/^latest turn +open, started [-\d]+ [\d:]+Z$/m)
    expect(person.stdout).toMatch(/^next +substrat log a --follow$/m)
    expect(program.json.holder).toStrictEqual({
      pid: sender.pid,
      host: expect.any(String),
      command: 'substrat send',
      since: expect.any(String),
      boot_id: bootOf(house, id),
      ...(HOST_ID === undefined ? {} : { host_id: HOST_ID }),
    })
    expect(program.json).toMatchObject({
      agent: { state: 'active', status: 'running' },
      run: { status: 'open' },
    })
    gate.open()
    await sender.result
  })

  test('reports a turn whose process is dead, and writes nothing', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    const sender = house.start(['send', 'a', 'one'])
    await house.waitForRecord(id, 'model.requested')
    await sender.kill()
    const log = house.log(id)
    const [shown, listed, interrupted, running] = await Promise.all([
      house.ok('show', 'a'),
      house.ok('list'),
      house.ok('list', '--status', 'interrupted_startup', '--json'),
      house.ok('list', '--status', 'running', '--json'),
    ])
    expect(shown.stdout).toMatch(/^status +interrupted$/m)
    expect(shown.stdout).toMatch(/^reason +its process died$/m)
    expect(shown.stdout).toMatch(/^next +substrat resume a$/m)
    expect(shown.stdout).not.toContain('held by')
    expect(listed.stdout).toMatch(/^a .* interrupted /m)
    expect([interrupted.json.agents.length, running.json.agents.length]).toEqual([1, 0])
    expect(house.log(id)).toBe(log)
    house.scenario('s.json', { say: 'late' })
    // The command in the hint works unchanged.
    expect((await house.ok('resume', 'a')).stdout).toBe('late\n')
  })

  test('gives the reason for a failed turn', async () => {
    const house = new House()
    await house.spawn('a', '--option', house.scenario('s.json', { fail: { type: 'invalid' } }))
    await house.run(['send', 'a', 'one'])
    const { stdout } = await house.ok('show', 'a')
    expect(stdout).toMatch(/^latest turn +failed, started .*Z, ended .*Z$/m)
    expect(stdout).toMatch(
      /^reason +its AI provider rejected the request: the scenario makes this request fail: invalid$/m,
    )
  })

  test('names the same next command as stderr did after the failure', async () => {
    const house = new House()
    for (const type of ['crashed', 'unreachable', 'authentication', 'billing', 'misconfigured', 'refused']) {
      const fail = { type, attempts: 9 }
      await house.spawn(type, '--option', house.scenario(`${type}.json`, { fail }))
      const { stderr } = await house.run(['send', type, 'one'])
      const { next } = (await house.ok('show', type, '--json')).json
      expect(next).toBe(type === 'refused' ? "substrat send refused '…'" : `substrat retry ${type}`)
      expect(stderr).toContain(next)
    }
    const slow = house.scenario('slow.json', { delay_ms: 3_600_000 })
    await house.spawn('slow', '--option', slow)
    const late = await house.run(['send', 'slow', 'one', '--turn-timeout', '50ms'])
    expect(late.stderr).toContain('substrat retry slow')
    const { stdout } = await house.ok('show', 'slow')
    expect(stdout).toMatch(/^status +timed out$/m)
    expect(stdout).toMatch(/^next +to allow more time: .+; to run it again: substrat retry slow$/m)
    house.scenario('slow.json', { say: 'in time' })
    expect((await house.ok('retry', 'slow', '--timeout', '10m')).stdout).toBe('in time\n')
  })

  test('suggests resume only for mail that is due', async () => {
    const house = new House()
    await house.spawn('a')
    const next = async (): Promise<string> => (await house.ok('show', 'a', '--json')).json.next
    await house.ok('send', 'a', '--queue', '--no-drain', '--not-before', '2999-01-01T00:00:00Z', 'later')
    expect(await next()).toBe('substrat deliver a')
    await house.ok('send', 'a', '--queue', '--no-drain', 'now')
    expect(await next()).toBe('substrat resume a')
  })

  test('--reply prints only the latest reply, in full', async () => {
    const house = new House()
    await house.spawn('a')
    expect((await house.ok('show', 'a', '--reply')).stdout).toBe('\n')
    await house.ok('send', 'a', 'one\ntwo')
    expect((await house.ok('show', 'a', '--reply')).stdout).toBe('echo: one\ntwo\n')
  })

  test('finds an agent by UUID, UUID prefix, or its name in any case', async () => {
    const house = new House()
    const id = await house.spawn('Näme')
    for (const word of [id, id.toUpperCase(), id.slice(0, 8), 'näme', 'NÄME', 'Na\u0308me']) {
      expect((await house.ok('show', word, '--json')).json.agent.id, word).toBe(id)
    }
  })

  test('quotes a name for the shell, so that the next command can be pasted', async () => {
    const house = new House()
    await house.spawn("it's $HOME")
    const { json } = await house.ok('show', "it's $HOME", '--json')
    expect(json.next).toBe(`substrat send 'it'\\''s $HOME' '…'`)
    const pasted = house.launch(['sh', '-c', json.next.replace('substrat', house.command().join(' '))])
    expect((await pasted.result).stdout).toBe('echo: …\n')
  })
})
