/** `usage`: tokens and costs of agents, from snapshots and from logs. */
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

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

  test('refuses an age that is none, and an agent that does not exist', async () => {
    const house = new House()
    await house.spawn('a')
    expect((await house.run(['usage', '--since', 'soon'])).exit).toBe(2)
    expect((await house.run(['usage', 'nobody'])).exit).toBe(3)
  })
})
