/** `usage`: tokens and costs of agents, from snapshots and from logs. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { NativeHouse } from '../support/native.js'

describe.concurrent('usage', () => {
  test('counts the same from snapshots as from logs, and skips terminated agents without --all', async () => {
    const house = new House()
    for (const name of ['a', 'b', 'gone']) await house.spawn(name)
    await house.ok('send', 'a', 'one two three')
    await house.ok('send', 'a', 'four')
    await house.ok('send', 'gone', 'five six')
    await house.ok('terminate', 'gone')
    const { json } = await house.ok('usage', '--json')
    expect(json.rows.map(({ path }: { path: string }) => path).sort()).toEqual(['a', 'b'])
    expect(json.total).toMatchObject({ runs: 2, runs_with_usage: 2, runs_with_cost: 0, input_tokens: 4 })
    const all = (await house.ok('usage', '--all', '--json')).json
    expect(all.total).toMatchObject({ runs: 3, input_tokens: 6 })
    for (const by of ['agent', 'model', 'day']) {
      const read = (await house.ok('usage', '--all', '--since', '2020-01-01', '--by', by, '--json')).json
      expect(read.total).toEqual(all.total)
    }
    expect((await house.ok('usage', 'a', '--json')).json.total).toEqual(json.total)
  })

  test('counts a turn of a schedule in its row, and all other turns in one row', async () => {
    const house = new House()
    for (const name of ['a', 'b']) {
      await house.spawn(name)
      await house.ok('send', name, 'one')
      await house.ok('schedule', 'add', name, '0 7 * * *', 'two three', '--name', 'daily')
    }
    await house.ok('schedule', 'run-now', 'a', 'daily')
    await house.ok('schedule', 'run-now', 'a', 'daily')
    await house.ok('send', 'a', 'four')
    const { rows, total } = (await house.ok('usage', '--by', 'schedule', '--json')).json
    expect(rows).toMatchObject([
      { schedule: null, runs: 3 },
      { schedule: 'daily', path: 'a', runs: 2 },
    ])
    expect(total.runs).toBe(5)
    expect((await house.ok('usage', '--by', 'schedule')).stdout).toContain('a daily')
  })

  test('counts removed agents with --all, as before their removal', async () => {
    const house = new House()
    for (const name of ['lead', 'stays']) await house.spawn(name)
    await house.spawn('kid', '--parent', 'lead')
    for (const name of ['lead', 'lead/kid', 'lead/kid', 'stays'])
      await house.ok('send', name, `hello ${name}`)
    await house.ok('terminate', 'lead', '--recursive')
    const groupings = ['agent', 'model', 'day'].flatMap((by) => [
      ['--by', by],
      ['--by', by, '--since', '1d'],
      ['--by', by, '--tree', 'lead'],
    ])
    const used = async (): Promise<object[]> => {
      const seen = []
      for (const words of groupings) {
        if (words.includes('--tree') && (await house.run(['show', 'lead'])).exit !== 0) continue
        const { json } = await house.ok('usage', '--all', '--json', ...words)
        const rows = json.rows.map(({ removed_at: _, ...row }: { removed_at?: string }) => row)
        seen.push({ words, total: json.total, rows })
      }
      return seen
    }
    const before = await used()
    await house.ok('remove', 'lead/kid')
    expect(await used()).toEqual(before)
    await house.ok('prune', '--older-than', '1ms')
    expect(await used()).toEqual(
      before.filter(({ words }: { words?: string[] }) => !words?.includes('--tree')),
    )
    const { json } = await house.ok('usage', '--all', '--json')
    expect(json).toMatchObject({ removed: 2, total: { runs: 4 } })
    expect(json.rows.filter((row: object) => 'removed_at' in row)).toHaveLength(2)
    expect((await house.ok('usage', '--all')).stdout).toContain('lead/kid (removed)\n')
    expect((await house.ok('usage', '--json')).json).toMatchObject({ removed: 0, total: { runs: 1 } })
    // Their logs are gone, so these files alone have the sums.
    rmSync(`${house.home}/removed`, { recursive: true })
    expect((await house.ok('usage', '--all', '--json')).json.total.runs).toBe(1)
  })

  test('by model, every turn is in a row, also one without usage, before and after its agent is removed', async () => {
    const house = new House()
    const fails = { fail: { type: 'billing' } }
    await house.spawn('plain', '--option', house.scenario('p.json', { say: 'one' }, fails))
    await house.spawn('named', '--model', 'm-1', '--option', house.scenario('n.json', fails, { say: 'two' }))
    for (const name of ['plain', 'plain', 'named', 'named']) await house.run(['send', name, 'go'])
    await house.spawn('mute', '--provider', 'exec', '--option', 'command=echo hi')
    await house.ok('send', 'mute', 'go')
    const used = async (...words: string[]) => (await house.ok('usage', '--all', '--json', ...words)).json
    const rowsOf = (json: { rows: Record<string, unknown>[] }) =>
      json.rows.map(({ model, runs, runs_with_usage }) => [model, runs, runs_with_usage])
    for (const words of [
      ['--by', 'model'],
      ['--by', 'model', '--since', '1d'],
    ]) {
      const json = await used(...words)
      expect(rowsOf(json)).toEqual([
        [null, 3, 1],
        ['m-1', 2, 1],
      ])
      expect(json.total).toMatchObject({ runs: 5, runs_with_usage: 2 })
    }
    const before = await used('--by', 'model')
    for (const name of ['plain', 'named', 'mute']) {
      await house.ok('terminate', name)
      await house.ok('remove', name)
    }
    const { rows, total } = before
    expect(await used('--by', 'model')).toMatchObject({ rows, total })
    expect((await used('--by', 'model', '--since', '1d')).rows).toEqual(rows)
  })

  test('an agent whose removal was killed before its files were gone counts once', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'one two')
    await house.ok('terminate', 'a')
    const agent = path.dirname(house.agentFile(id, 'events.jsonl'))
    cpSync(agent, `${house.root}/left`, { recursive: true })
    const before = (await house.ok('usage', '--all', '--json')).json.total
    await house.ok('remove', 'a')
    cpSync(`${house.root}/left`, agent, { recursive: true })
    expect((await house.ok('usage', '--all', '--json')).json).toMatchObject({ total: before, removed: 0 })
    expect(before.runs).toBe(1)
  })

  test('a damaged file of a removed agent is reported, and the others count', async () => {
    const house = new House()
    const ids = []
    for (const name of ['a', 'b']) {
      ids.push(await house.spawn(name))
      await house.ok('send', name, 'hello')
      await house.ok('terminate', name)
      await house.ok('remove', name)
    }
    writeFileSync(`${house.home}/removed/${ids[0]}`, 'x')
    const { json, exit } = await house.run(['usage', '--all', '--json'])
    expect(exit).toBe(10)
    expect(json).toMatchObject({ damaged: [ids[0]], removed: 1, total: { runs: 1 } })
  })

  test('a bundle that is imported after its agent was removed counts nothing again', async () => {
    const house = new House()
    await house.spawn('a')
    await house.ok('send', 'a', 'one two')
    await house.ok('export', 'a', '--bundle', 'a.bundle')
    await house.ok('terminate', 'a')
    await house.ok('remove', 'a')
    const before = (await house.ok('usage', '--all', '--json')).json.total
    await house.ok('import', 'a.bundle', '--trust')
    expect((await house.ok('usage', '--all', '--json')).json.total).toEqual(before)
    expect(before.runs).toBe(1)
  })

  test('begins at 0 in a fork: the tokens of its conversation are those of the first agent', async () => {
    const house = new House()
    await house.spawn('first')
    await house.ok('send', 'first', 'one two three')
    await house.ok('fork', 'first', '--name', 'second')
    const forked = (await house.ok('usage', 'second', '--json')).json
    expect(forked.total).toMatchObject({ runs: 0, runs_with_usage: 0, input_tokens: 0, output_tokens: 0 })
    await house.ok('send', 'second', 'four five')
    const { json } = await house.ok('usage', '--json')
    expect(json.total).toMatchObject({ runs: 2, runs_with_usage: 2, input_tokens: 5 })
    // Snapshots and logs agree.
    expect((await house.ok('usage', '--since', '2020-01-01', '--json')).json.total).toEqual(json.total)
  })

  test('counts an agent with those below it, and nothing before --since', async () => {
    const house = new House()
    await house.spawn('lead')
    await house.spawn('child', '--parent', 'lead')
    await house.spawn('other')
    for (const name of ['lead', 'lead/child', 'other']) await house.ok('send', name, 'hi')
    const { json } = await house.ok('usage', '--tree', 'lead', '--json')
    expect(json.rows.map(({ path }: { path: string }) => path)).toEqual(['lead', 'lead/child'])
    expect(json.total.runs).toBe(2)
    const later = (await house.ok('usage', '--since', '2100-01-01', '--json')).json
    expect(later.total).toEqual({
      input_tokens: 0,
      output_tokens: 0,
      runs: 0,
      runs_with_usage: 0,
      runs_with_cost: 0,
    })
  })

  test('prints a table with a total, says for how many turns it is known, and show prints the total', async () => {
    const house = new House()
    await house.spawn('a')
    await house.ok('send', 'a', 'hello')
    const { stdout } = await house.ok('usage')
    expect(stdout).toMatch(/^TURNS +INPUT +CACHED +WRITTEN +OUTPUT +REASONING +COST +AGENT\n/)
    expect(stdout).toMatch(/\n1 +1 +- +- +\d+ +- +- +total\n/)
    expect(stdout).toContain('tokens known for 1 of 1 turn, cost for none\n')
    expect((await house.ok('show', 'a')).stdout).toMatch(
      /^usage +1 input and \d+ output tokens; tokens known for 1 of 1 turn/m,
    )
  })

  test('names an agent whose log cannot be read, counts the others, and exits 10', async () => {
    const house = new House()
    const [bad] = [await house.spawn('bad'), await house.spawn('good')]
    await house.ok('send', 'good', 'hello')
    writeFileSync(house.agentFile(bad, 'events.jsonl'), 'no log\nat all\n')
    writeFileSync(house.agentFile(bad, 'session.json'), '')
    const { exit, json, stderr } = await house.run(['usage', '--json'])
    expect(exit).toBe(10)
    expect(stderr).toContain(bad)
    expect(json).toMatchObject({ damaged: [bad], total: { runs: 1 } })
  })

  test('has its rows in the order of list', async () => {
    const house = new House()
    for (const name of ['e', 'd', 'c', 'b', 'a', 'f']) await house.spawn(name)
    const paths = async (...args: string[]): Promise<string[]> => {
      const { json } = await house.ok(...args, '--json')
      return (json.rows ?? json.agents).map(({ path }: { path: string }) => path)
    }
    const listed = await paths('list')
    expect(listed).toEqual(['e', 'd', 'c', 'b', 'a', 'f'])
    expect(await paths('usage')).toEqual(listed)
    expect(await paths('usage', '--since', '2020-01-01')).toEqual(listed)
  })

  test('names a damaged agent below --tree, and counts the agents below that one', async () => {
    const house = new House()
    await house.spawn('lead')
    const bad = await house.spawn('child', '--parent', 'lead')
    await house.spawn('grand', '--parent', 'lead/child')
    for (const name of ['lead', 'lead/child', 'lead/child/grand']) await house.ok('send', name, 'hi')
    damageLastRun(house, bad)
    rmSync(house.agentFile(bad, 'session.json'))
    for (const more of [[], ['--all'], ['--by', 'day']]) {
      const { exit, json } = await house.run(['usage', '--tree', 'lead', ...more, '--json'])
      expect(exit).toBe(10)
      expect(json).toMatchObject({ damaged: [bad], total: { runs: 2 } })
    }
  })

  test('counts nothing of an agent whose log is damaged, not even the turns before the damage', async () => {
    const house = new House()
    const [bad] = [await house.spawn('bad'), await house.spawn('good')]
    for (const name of ['bad', 'bad', 'good']) await house.ok('send', name, 'hi')
    damageLastRun(house, bad)
    for (const by of ['agent', 'model', 'day']) {
      const { exit, json } = await house.run(['usage', '--since', '2020-01-01', '--by', by, '--json'])
      expect(exit).toBe(10)
      expect(json).toMatchObject({ damaged: [bad], total: { runs: 1 } })
      for (const row of json.rows) expect(row).toMatchObject({ runs: 1 })
    }
  })

  test('keeps its shape, and no turn stops, if a program reports absurd counts', async () => {
    const house = new NativeHouse()
    const absurd = { input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: 5, cost_usd: 1e300 }
    const turn = [{ launch: 'true' }, { type: 'usage', usage: absurd }, { type: 'done', reply: 'ok' }]
    house.turns(turn, turn, turn)
    await house.spawn('a', '--provider', 'native')
    for (let n = 0; n < 3; n += 1) expect((await house.ok('send', 'a', 'go')).stdout).toBe('ok\n')
    const { json } = await house.ok('usage', '--json')
    expect(json.total).toMatchObject({ runs: 3, input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: 15 })
    for (const by of ['agent', 'model', 'day'])
      expect((await house.ok('usage', '--since', '2020-01-01', '--by', by, '--json')).json.total).toEqual(
        json.total,
      )
    expect(house.findings(true)).toEqual([])
  })

  test('refuses an agent together with --tree', async () => {
    const house = new House()
    for (const name of ['a', 'b']) await house.spawn(name)
    const { exit, stderr } = await house.run(['usage', 'a', '--tree', 'b'])
    expect(exit).toBe(2)
    expect(stderr).toContain('--tree')
  })

  test('refuses an age that is none, and an agent that does not exist', async () => {
    const house = new House()
    await house.spawn('a')
    expect((await house.run(['usage', '--since', 'soon'])).exit).toBe(2)
    expect((await house.run(['usage', 'nobody'])).exit).toBe(3)
  })
})

/** Alters a byte of the latest turn, so that its checksum is wrong. */
function damageLastRun(house: House, id: string): void {
  const file = house.agentFile(id, 'events.jsonl')
  const log = readFileSync(file, 'utf8')
  const at = log.lastIndexOf('run.started')
  writeFileSync(file, `${log.slice(0, at)}run.stXrted${log.slice(at + 11)}`)
}
