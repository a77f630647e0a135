/** Budgets on the command line. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

/** A request of `scripted` holds its prompt, with the tools, and this. */
const ENV = { SUBSTRAT_BUDGET_TURN: 'tokens=10' }

/** Stops at the limit of its turn, which it exceeds by a tenth of a dollar. */
const CLAUDE = `#!/usr/bin/env node
import { createInterface } from 'node:readline'
const at = process.argv.indexOf('--max-budget-usd')
const write = (value) => process.stdout.write(JSON.stringify(value) + '\\n')
const session_id = process.argv[process.argv.findIndex((word) => /^--(session-id|resume)$/.test(word)) + 1]
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line)
  if (message.type === 'control_request') {
    const { request_id } = message
    write({ type: 'control_response', response: { subtype: 'success', request_id, response: {} } })
    continue
  }
  write({ type: 'system', subtype: 'init', session_id, tools: [], mcp_servers: [] })
  const usage = { input_tokens: 5, output_tokens: 5 }
  const total_cost_usd = Number(process.argv[at + 1]) + 0.1
  write({ type: 'result', subtype: 'error_max_budget_usd', is_error: true, session_id, usage, total_cost_usd, errors: [] })
  process.exit(1)
}
`

describe.concurrent('a budget', () => {
  test('that is used up lets the turn wait, and a person decides', async () => {
    const house = new House(ENV)
    const id = await house.spawn('notes', '--budget', 'requests=1')
    expect((await house.ok('send', 'notes', 'first')).stdout).toBe('echo: first\n')
    const { exit, stderr } = await house.run(['send', 'notes', 'second', '--key', 'k'])
    expect(exit).toBe(5)
    expect(stderr).toContain('the budget of notes, requests=1: 1 request used')
    expect(stderr).toContain('it does not refill')
    expect(stderr).toContain('substrat approve notes --add requests=1;')
    const other = await house.run(['approve', 'notes', '--add', 'tokens=200k'])
    expect([other.exit, other.stderr]).toEqual([2, expect.stringContaining('no cap over it counts tokens')])
    const shown = (await house.ok('show', 'notes', '--json')).json
    expect(shown.wait).toMatchObject({ kind: 'budget', not_before: null, asks: [] })
    expect(shown.budgets).toMatchObject([{ path: 'notes', unit: 'requests', max: 1, spent: 1, left: 0 }])
    expect((await house.ok('show', 'notes')).stdout).toContain('budget       requests=1: 0 requests left')

    const requests = house.count(id, 'model.requested')
    expect((await house.run(['send', 'notes', 'second', '--key', 'k'])).exit).toBe(5)
    expect((await house.run(['approve', 'notes'])).exit).toBe(2)
    expect((await house.run(['approve', 'notes', '--always'])).exit).toBe(2)
    expect((await house.run(['approve', 'notes', '--add', 'requests=1/day'])).exit).toBe(2)
    expect((await house.run(['resume', 'notes'])).exit).toBe(5)
    expect(house.count(id, 'model.requested')).toBe(requests)

    expect((await house.ok('approve', 'notes', '--add', 'requests=1')).stdout).toBe('echo: second\n')
    expect((await house.run(['send', 'notes', 'third'])).exit).toBe(5)
    expect((await house.ok('approve', 'notes', '--once')).stdout).toBe('echo: third\n')
    expect((await house.run(['send', 'notes', 'fourth'])).exit).toBe(5)
    expect((await house.ok('deny', 'notes', '--json')).json.run.status).toBe('cancelled')
    expect(house.count(id, 'model.requested')).toBe(3)
    expect((await house.ok('doctor', '--all')).exit).toBe(0)
  })

  test('holds for the agents below, and is raised by set', async () => {
    const house = new House(ENV)
    await house.spawn('lead', '--budget', 'turns=2/day')
    await house.spawn('kid', '--parent', 'lead')
    for (const n of [1, 2]) await house.ok('send', 'lead/kid', `task ${n}`)
    const { exit, stderr } = await house.run(['send', 'lead/kid', 'task 3'])
    expect(exit).toBe(5)
    expect(stderr).toContain('the budget of lead, turns=2/day: 2 turns used')
    expect(stderr).toContain('it refills at')
    expect((await house.ok('list', '--json')).json.agents).toMatchObject([
      { path: 'lead', budget: [{ spent: 2, left: 0, per: 'day' }] },
      { path: 'lead/kid', shown_status: 'limited' },
    ])
    expect((await house.ok('tree')).stdout).toContain('0% of its budget left')
    expect((await house.ok('usage')).stdout).toContain('budget turns=2/day of lead: 0 turns left')
    await house.ok('set', 'lead', '--budget', 'turns=3/day')
    const { stdout } = await house.ok('recover', '--all')
    expect(stdout).toContain('continued')
    expect((await house.ok('show', 'lead/kid', '--reply')).stdout).toBe('echo: task 3\n')
    expect((await house.run(['set', 'lead', '--budget', 'turns=3/day'])).stderr).toContain('3 turns')
  })

  test('in the settings holds for every agent of the home', async () => {
    const house = new House(ENV)
    await house.spawn('a')
    await house.spawn('b')
    await house.ok('config', 'set', 'budget', 'requests=1')
    await house.ok('send', 'a', 'hello')
    expect((await house.run(['send', 'b', 'hello'])).stderr).toContain('the budget of the home, requests=1')
    expect((await house.ok('show', 'b', '--json')).json.budgets).toMatchObject([{ agent_id: null, left: 0 }])
    await house.ok('config', 'unset', 'budget')
    expect((await house.ok('resume', 'b')).stdout).toBe('echo: hello\n')
  })

  test('counts a program as it held, if the program reports nothing', async () => {
    const house = new House({ SUBSTRAT_BUDGET_TURN: 'tokens=400' })
    const id = await house.spawn('cat', '--provider', 'exec', '-o', 'command=cat', '--budget', 'tokens=1000')
    for (const n of [1, 2]) await house.ok('send', 'cat', `task ${n}`)
    expect((await house.run(['send', 'cat', 'task 3'])).stderr).toContain('800 tokens used')
    const kinds = house.kinds(id)
    expect(kinds[kinds.indexOf('provider.started') - 1]).toBe('budget.held')
  })

  test('holds the defaults of the units that budget_turn does not name, and at most the whole cap', async () => {
    const house = new House({ SUBSTRAT_BUDGET_TURN: 'usd=1' })
    const cat = ['--provider', 'exec', '-o', 'command=cat', '--budget']
    const held = async (name: string, budget: string): Promise<object[]> => {
      const id = await house.spawn(name, ...cat, budget)
      await house.ok('send', name, 'task')
      return house.records(id).flatMap((record) => (record.kind === 'budget.held' ? [record.amounts] : []))
    }
    expect(await held('a', 'tokens=2M,time=2h')).toMatchObject([{ tokens: 500_000, time_ms: 1_800_000 }])
    expect(await held('b', 'tokens=1000,time=20m/day')).toMatchObject([{ tokens: 1000, time_ms: 1_200_000 }])
    expect((await house.run(['send', 'b', 'again'])).exit).toBe(5)
  })

  test('that is set during a turn holds from its next request on', async () => {
    const house = new House(ENV)
    const config = join(house.home, 'config.json')
    const call = { name: 'shell', input: { command: `echo '{"budget":"requests=1"}' > ${config}` } }
    const scenario = house.scenario('s.json', { tools: [call] }, { tools: [call] }, { say: 'done' })
    const id = await house.spawn('a', '-o', scenario, '--allow', 'shell')
    const { exit, stderr } = await house.run(['send', 'a', 'go'])
    expect(stderr).toContain('the budget of the home, requests=1: 1 request used')
    expect(exit).toBe(5)
    expect(house.count(id, 'model.requested')).toBe(2)
    expect((await house.ok('log', 'a')).stdout).toContain(
      'waiting for the budget of the home, requests=1: 1 request used, and the next request may use 1 request; it does not refill',
    )
  })

  test('that Claude reaches lets the turn wait, and another limit of Claude ends it', async () => {
    const house = new House({ SUBSTRAT_BUDGET_TURN: 'usd=2', CLAUDE_CONFIG_DIR: '/nonexistent' })
    house.write('claude.mjs', CLAUDE)
    const program = join(house.workspace, 'claude.mjs')
    chmodSync(program, 0o755)
    const claude = ['--provider', 'claude-code', '-o', `command=${program}`, '--budget']
    const id = await house.spawn('small', ...claude, 'usd=1')
    const { exit, stderr } = await house.run(['send', 'small', 'work'])
    expect(stderr).toContain('the budget of small, usd=1: $1.1 used')
    expect(stderr).toContain('substrat approve small --add usd=1.1;')
    expect(exit).toBe(5)
    expect(house.kinds(id)).toContain('model.failed')
    await house.spawn('large', ...claude, 'usd=100')
    const other = await house.run(['send', 'large', 'work'])
    expect(other.stderr).toContain(
      'the turn of large failed: claude stopped its turn at its limit in dollars',
    )
    expect(other.exit).not.toBe(5)
  })

  test('is copied by a fork, with a count of its own', async () => {
    const house = new House(ENV)
    await house.spawn('a', '--budget', 'requests=1')
    await house.ok('send', 'a', 'hello')
    await house.ok('fork', 'a', '--name', 'b')
    await house.ok('send', 'b', 'hello')
    expect((await house.run(['send', 'b', 'again'])).exit).toBe(5)
  })

  test.each([
    [['--budget', 'words=5'], 'the units are'],
    [['--budget', 'tokens=-1'], 'larger than 0'],
    [['--budget', 'tokens=0'], 'larger than 0'],
    [['--budget', 'tokens=1e30'], 'a number is written'],
    [['--budget', 'tokens=99999999G'], 'too large'],
    [['--budget', 'tokens=5/fortnight'], 'the periods are'],
    [['--budget', 'usd=5'], 'reports no cost'],
  ])('such as %s is refused, with the line to type', async (flags, why) => {
    const house = new House(ENV)
    const { exit, stderr } = await house.run(['spawn', '--name', 'a', ...flags])
    expect(exit).toBe(2)
    expect(stderr).toContain(why)
    expect(stderr).toMatch(/--budget \w+=/)
    expect((await house.run(['config', 'set', 'budget', 'tokens=0'])).exit).toBe(2)
    expect((await house.run(['config', 'set', 'timezone', 'Mars/Base'])).exit).toBe(2)
  })

  test('in dollars of the home refuses the turns of a provider that reports no cost', async () => {
    const house = new House({ ...ENV, SUBSTRAT_BUDGET: 'usd=5' })
    await house.spawn('a')
    const { exit, stderr } = await house.run(['send', 'a', 'hello'])
    expect(exit).toBe(8)
    expect(stderr).toContain('the provider scripted of a reports no cost')
  })
})
