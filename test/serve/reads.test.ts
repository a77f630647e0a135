/** The reading routes: each has what the command of the same name prints. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Served } from './support.js'

async function family(): Promise<{ house: House; served: Served; lead: string }> {
  const house = new House()
  const lead = await house.spawn('lead')
  await house.spawn('tests', '--parent', 'lead')
  await house.spawn('other')
  await house.ok('send', 'lead', 'hello')
  return { house, served: await Served.start(house), lead }
}

describe.concurrent('a server', () => {
  test('answers with what the commands print with --json', async () => {
    const { house, served, lead } = await family()
    await house.ok('send', 'other', '--queue', 'later')
    const agent = 'lead'
    const printed = async (...args: string[]) => (await house.ok(...args, '--json')).json
    expect((await served.call('listAgents')).data).toEqual({ ...(await printed('list')), next: null })
    expect((await served.call('showAgent', { path: { agent } })).data).toEqual(await printed('show', agent))
    expect((await served.call('showTree')).data).toEqual(await printed('tree'))
    expect((await served.call('showTree', { query: { agent } })).data).toEqual(await printed('tree', agent))
    expect((await served.call('listProviders')).data).toEqual(await printed('providers'))
    expect((await served.call('showUsage')).data).toEqual(await printed('usage'))
    expect((await served.call('showUsage', { query: { by: 'day', tree: agent } })).data).toEqual(
      await printed('usage', '--by', 'day', '--tree', agent),
    )
    expect((await served.call('listMail', { path: { agent: 'other' } })).data).toEqual(
      await printed('inbox', 'other'),
    )
    expect((await served.call('listMail', { path: { agent: 'operator' } })).data).toEqual(
      await printed('inbox'),
    )
    expect((await served.call('listFindings')).data).toEqual(await printed('doctor'))
    const { data } = await served.call('listRecords', { path: { agent: lead } })
    expect(data.records).toEqual(house.records(lead))
    expect(data).toMatchObject({ last_seq: house.records(lead).length, is_end: true })
    await served.stop()
  })

  test('searches the home as search does, up to a limit', async () => {
    const house = new House()
    for (const name of ['a', 'b']) {
      await house.spawn(name)
      for (const text of ['a needle', '--json', 'nothing']) await house.ok('send', name, '--', text)
    }
    const served = await Served.start(house)
    const search = async (query: { text: string; limit?: number; agent?: string; since?: string }) =>
      (await served.call('searchRecords', { query })).data
    const printed = async (...args: string[]) =>
      (await house.ok('search', '--json', ...args)).stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    const all = await printed('needle')
    expect(all).toHaveLength(4)
    expect(await search({ text: 'needle' })).toEqual({ matches: all, is_end: true, damage: null })
    expect(await search({ text: 'needle', limit: 4 })).toMatchObject({ matches: all, is_end: true })
    expect(await search({ text: 'needle', limit: 3 })).toEqual({
      matches: all.slice(0, 3),
      is_end: false,
      damage: null,
    })
    expect((await search({ text: '--json' })).matches).toEqual(await printed('--', '--json'))
    expect((await search({ text: 'needle', agent: 'b' })).matches).toEqual(
      await printed('needle', '--agent', 'b'),
    )
    expect((await search({ text: 'needle', since: '2999-01-01T00:00:00.000Z' })).matches).toEqual([])
    for (const query of [
      { text: '' },
      { text: 'a\0b' },
      { text: 'x'.repeat(1001) },
      { text: 'x', limit: 1001 },
    ])
      expect((await served.call('searchRecords', { query })).status).toBe(400)
    await served.stop()
  })

  test('searches the other agents if one is damaged, and says so', async () => {
    const house = new House()
    const ids = [await house.spawn('a'), await house.spawn('b')]
    for (const name of ['a', 'b']) await house.ok('send', name, 'needle')
    house.damage(ids[0] as string, (log) => `x${log}`)
    const served = await Served.start(house, '--read-only')
    const { data } = await served.call('searchRecords', { query: { text: 'needle' } })
    expect(data.matches.some(({ path }) => path === 'b')).toBe(true)
    expect(data.damage).toContain('agent a: ')
    await served.stop()
  })

  test('finds an agent by its path, also one below another', async () => {
    const { served } = await family()
    const { data } = await served.call('showAgent', { path: { agent: 'lead/tests' } })
    expect(data.agent.path).toBe('lead/tests')
    await served.stop()
  })

  test('filters agents as list does, and finds those that need a person', async () => {
    const { house, served } = await family()
    const asks = house.scenario('s.json', {
      tools: [{ name: 'ask_operator', input: { question: 'Which?' } }],
    })
    await house.spawn('asker', '-o', asks)
    expect((await house.run(['send', 'asker', 'hi'])).exit).toBe(5)
    const names = async (query: Record<string, string>) =>
      ((await served.call('listAgents', { query })).data.agents as { path: string }[]).map(({ path }) => path)
    expect(await names({ roots: 'true' })).toEqual(['lead', 'other', 'asker'])
    expect(await names({ status: 'waiting' })).toEqual(['asker'])
    expect(await names({ status: 'needs_you' })).toEqual(['asker'])
    await house.ok('terminate', 'other')
    expect(await names({ state: 'terminated' })).toEqual(['other'])
    expect(await names({ all: '' })).toEqual(['lead', 'lead/tests', 'other', 'asker'])
    await served.stop()
  })

  test('pages through agents and records without a gap or a repetition', async () => {
    const { house, served, lead } = await family()
    const seen: string[] = []
    let after: string | null | undefined
    do {
      const { data } = await served.call('listAgents', {
        query: { limit: 1, ...(after == null ? {} : { after }) },
      })
      seen.push(...data.agents.map(({ id }) => id))
      after = data.next
    } while (after !== null)
    expect(seen).toEqual((await house.ok('list', '--json')).json.agents.map(({ id }: { id: string }) => id))
    const seqs: number[] = []
    for (let isEnd = false; !isEnd; ) {
      const query = { limit: 4, after: seqs.at(-1) ?? 0 }
      const { data } = await served.call('listRecords', { path: { agent: lead }, query })
      seqs.push(...data.records.map(({ seq }) => seq))
      isEnd = data.is_end
    }
    expect(seqs).toEqual(house.records(lead).map(({ seq }) => seq))
    const past = await served.call('listRecords', { path: { agent: lead }, query: { after: 999 } })
    expect(past).toMatchObject({ status: 400, problem: { code: 'USAGE', who: 'caller' } })
    await served.stop()
  })

  test('reads a damaged agent as the commands do, and the others with it', async () => {
    const { house, served, lead } = await family()
    house.damage(lead, (log) => log.replace('"kind":"run.started"', '"kind":"run.startled"'))
    const { data } = await served.call('listAgents')
    expect(data.agents.map(({ status }) => status).sort()).toEqual(['corrupt', 'idle', 'idle'])
    const shown = await served.call('showAgent', { path: { agent: lead } })
    expect(shown).toMatchObject({ status: 500, problem: { code: 'CORRUPT', who: 'operator' } })
    expect(shown.problem.next).toContain('substrat doctor')
    const { data: found } = await served.call('listFindings')
    expect(found.findings[0]).toMatchObject({ agent: lead, verdict: 'damaged' })
    await served.stop()
  })
})

describe.concurrent('before it listens', () => {
  test('it marks the turns that a dead process left, and runs none', async () => {
    const house = new House()
    const slow = house.scenario('s.json', { delay_ms: 3_600_000 })
    const id = await house.spawn('a', '-o', slow)
    const sender = house.start(['send', 'a', 'hi'])
    await house.waitForRecord(id, 'model.requested')
    await sender.kill('SIGKILL')
    const served = await Served.start(house)
    expect(house.count(id, 'run.interrupted')).toBe(1)
    expect(house.count(id, 'run.resumed')).toBe(0)
    const { data } = await served.call('showAgent', { path: { agent: 'a' } })
    expect(data.agent.status).toBe('interrupted_startup')
    expect(served.running.stderr).toContain('substrat: agents: 1 interrupted\n')
    await served.stop()
  })

  test('with --read-only it changes nothing, and serves a home that does not exist yet', async () => {
    const house = new House()
    const served = await Served.start(house, '--read-only')
    expect((await served.call('listAgents')).data).toEqual({ agents: [], next: null })
    expect(house.exists()).toBe(false)
    await served.stop()
  })
})
