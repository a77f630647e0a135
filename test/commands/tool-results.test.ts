/** Turns that wait for the result of a call from elsewhere: parked with exit 5, and continued by `resume --result`. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { House, type Result } from '../support/cli.js'
import { decides, MARKS, parked, ran } from '../support/parked.js'
import { serverThat } from '../support/toolboxes.js'
import { waitFor } from '../support/wait.js'

const BUILD = { name: 'await_external', input: { what: 'the log of build 7' } }
const REVIEW = { name: 'await_external', input: { what: 'the review of Kim' } }

function refusal({ exit, json }: Result): [number, string] {
  return [exit, json.error.code]
}

function resultsOf(house: House, id: string): [string, boolean][] {
  return house
    .records(id)
    .filter((record) => record.kind === 'tool.finished')
    .map(({ content, is_error }) => [String(content), is_error])
}

describe.concurrent('await_external', () => {
  test('parks the turn without approval: exit 5, the awaited result and the token on stderr', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('s.json', { tools: [BUILD] }, { say: 'ok' }))
    const sent = await house.run(['send', 'a', 'go', '--print-token'])
    expect(sent).toMatchObject({ exit: 5, stdout: '' })
    expect(sent.stderr).toContain('substrat: the agent awaits: the log of build 7\nsubstrat: token st_')
    expect(sent.stderr).toMatch(
      /\nsubstrat: the turn of a is waiting for a result until \S+ \S+Z \(substrat token rotate a \| substrat resume a --token - --result FILE\)\n$/,
    )
    const kinds = house.kinds(id)
    const at = kinds.indexOf('tool.started')
    expect(kinds.slice(at)).toEqual([
      'tool.started',
      'tool.deferred',
      'token.minted',
      'run.waiting',
      'session.suspended',
      'status.derived',
    ])
    const [, , minted, waiting] = house.records(id).slice(at)
    expect(minted).toMatchObject({ wait: 'tool_result' })
    expect(waiting).toMatchObject({ wait: 'tool_result', batch: minted?.batch })
    const shown = (await house.ok('show', 'a')).stdout
    expect(shown).toMatch(/^awaits +the log of build 7$/m)
    expect(shown).toMatch(/^waits for +a result until /m)
    expect((await house.ok('list', '--json')).json.agents[0].status).toBe('waiting')
    expect((await house.ok('show', 'a', '--json')).json.wait).toMatchObject({
      kind: 'tool_result',
      asks: [{ call_id: expect.any(String), tool: 'await_external', input: BUILD.input }],
    })
    const log = (await house.ok('log', 'a')).stdout
    expect(log).toContain('await_external waits for its result from elsewhere: the log of build 7')
    expect(log).toContain('waiting for the result of await_external, until ')
    expect(house.findings(true)).toEqual([])
  })

  test('gets the result from a file in one batch with the token, and the model continues', async () => {
    const house = new House()
    const { id, token } = await parked(house, { tools: [BUILD] })
    house.write('result', 'all green')
    expect(await house.run(decides(token, '--result', 'result'))).toMatchObject({
      exit: 0,
      stdout: 'finished\n',
    })
    const records = house.records(id)
    const at = records.findIndex(({ kind }) => kind === 'token.consumed')
    const batch = records.filter((record) => record.batch[0] === records[at]?.batch[0])
    expect(batch.map(({ kind }) => kind)).toEqual([
      'session.activated',
      'token.consumed',
      'run.resumed',
      'tool.finished',
      'model.requested',
      'status.derived',
    ])
    expect(resultsOf(house, id)).toEqual([['all green', false]])
    expect(house.findings(true)).toEqual([])
  })

  test('gets the result from stdin; stdin cannot have the token too', async () => {
    const house = new House()
    const { id, token } = await parked(house, { tools: [BUILD] })
    const both = await house.run(['resume', 'a', '--token', '-', '--result', '-'], { stdin: token })
    expect(both.exit).toBe(2)
    expect(both.stderr).toContain('stdin cannot be both the token and the result')
    const answer = await house.run(['resume', 'a', '--token', '-', '--input', '-'], { stdin: token })
    expect(answer.stderr).toContain('stdin cannot be both the token and the answer')
    expect(await house.run(decides(token, '--result', '-'), { stdin: 'all green\n' })).toMatchObject({
      exit: 0,
      stdout: 'finished\n',
    })
    expect(resultsOf(house, id)).toEqual([['all green', false]])
  })

  test('takes the same result again without an effect, and refuses another', async () => {
    const house = new House()
    const { id, token } = await parked(house, { tools: [BUILD] })
    house.write('result', 'all green')
    const first = await house.run(decides(token, '--result', 'result', '--json'))
    const log = house.log(id)
    expect((await house.run(decides(token, '--result', 'result', '--json'))).json).toStrictEqual(first.json)
    house.write('other', 'red')
    for (const other of [['--result', 'other'], ['--result', 'result', '--failed'], ['--deny']]) {
      expect(refusal(await house.run(decides(token, ...other, '--json')))).toEqual([13, 'TOKEN_CONSUMED'])
    }
    const refused = await house.run(decides(token, '--result', 'other'))
    expect(refused.stderr).toMatch(
      /already used for a different result, by you at \S+ \S+ \(see its status: substrat show a\)\n$/,
    )
    expect(house.log(id)).toBe(log)
  })

  test('gives the model the beginning and end of a large result; a blob has all of it', async () => {
    const house = new House()
    const { id, token } = await parked(house, { tools: [BUILD] })
    house.write('result', 'x'.repeat(3_000_000))
    expect((await house.run(decides(token, '--result', 'result'))).exit).toBe(0)
    expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).toMatchObject({
      output: { bytes: 3_000_000 },
    })
    expect(house.findings(true)).toEqual([])
  })

  test('gets an error with --failed, and with deny', async () => {
    const house = new House()
    const { id, token } = await parked(house, { tools: [BUILD] })
    house.write('result', 'the runner died')
    expect((await house.run(decides(token, '--result', 'result', '--failed'))).exit).toBe(0)
    expect(resultsOf(house, id)).toEqual([['the runner died', true]])
    const other = new House()
    const { id: denied } = await parked(other, { tools: [BUILD] })
    await other.ok('deny', 'a', '--reason', 'no runner')
    expect(resultsOf(other, denied)).toEqual([
      ['The operator ended the wait for the result: no runner.', true],
    ])
  })

  test('cannot be approved or answered', async () => {
    const house = new House()
    const { id, token } = await parked(house, { tools: [BUILD] })
    for (const decision of [['--approve'], ['--input', 'x']]) {
      const refused = await house.run(decides(token, ...decision))
      expect(refused.exit).toBe(2)
      expect(refused.stderr).toContain('it waits for a result; use --result or --deny')
    }
    expect((await house.run(['approve', 'a'])).exit).toBe(2)
    expect(house.count(id, 'token.consumed')).toBe(0)
  })

  test('is parked for its deadline, but no longer than token_lifetime', async () => {
    const hour = { ...BUILD, input: { ...BUILD.input, deadline_seconds: 3600 } }
    for (const [lifetime, lives] of [
      ['7d', 3600],
      ['1m', 60],
    ] as const) {
      const house = new House({ SUBSTRAT_TOKEN_LIFETIME: lifetime })
      const { id, told } = await parked(house, { tools: [hour] })
      const minted = house.records(id).find(({ kind }) => kind === 'token.minted') as { ts: string }
      const seconds = (Date.parse(told.json.wait.deadline_at) - Date.parse(minted.ts)) / 1000
      expect(seconds).toBeGreaterThan(lives - 30)
      expect(seconds).toBeLessThanOrEqual(lives + 1)
    }
  })

  test('past its deadline is interrupted_waiting with an expired token, and resume waits again', async () => {
    const house = new House()
    const now = { ...BUILD, input: { ...BUILD.input, deadline_seconds: 0 } }
    const { id, token } = await parked(house, { tools: [now] })
    expect((await house.ok('list', '--json')).json.agents[0].status).toBe('interrupted_waiting')
    house.write('result', 'late')
    expect(refusal(await house.run(decides(token, '--result', 'result', '--json')))).toEqual([
      13,
      'TOKEN_EXPIRED',
    ])
    expect(house.count(id, 'token.expired')).toBe(1)
    expect(house.count(id, 'token.revoked')).toBe(0)
    // The deadline of the tool has passed, so the new token lives as long as any.
    const again = await house.run(['resume', 'a', '--json'])
    expect(again).toMatchObject({
      exit: 5,
      json: { wait: { kind: 'tool_result' }, agent: { status: 'waiting' } },
    })
    expect(house.count(id, 'tool.deferred')).toBe(1)
    const given = await house.run(decides(again.json.wait.token, '--result', 'result'))
    expect(given).toMatchObject({ exit: 0, stdout: 'finished\n' })
    expect(house.findings(true)).toEqual([])
  })

  test('has its token replaced by token rotate', async () => {
    const house = new House()
    const { token } = await parked(house, { tools: [BUILD] })
    const rotated = (await house.ok('token', 'rotate', 'a')).stdout.trim()
    house.write('result', 'all green')
    expect(refusal(await house.run(decides(token, '--result', 'result', '--json')))).toEqual([
      13,
      'TOKEN_REVOKED',
    ])
    expect((await house.run(decides(rotated, '--result', 'result'))).stdout).toBe('finished\n')
  })

  test.each([
    ['a plain send', ['send', 'a', 'instead'], 'another message came first'],
    ['cancel', ['cancel', 'a'], 'the turn was cancelled'],
    ['terminate', ['terminate', 'a'], 'the agent was terminated'],
  ])('is withdrawn by %s, which revokes the token', async (_, command, why) => {
    const house = new House()
    const { id, token } = await parked(house, { tools: [BUILD] })
    const told = await house.run(command)
    expect([0, 14]).toContain(told.exit)
    expect(resultsOf(house, id)[0]?.[0]).toContain(`No result: ${why}.`)
    house.write('result', 'late')
    const late = await house.run(['resume', id, '--token', token, '--result', 'result', '--json'])
    expect(refusal(late)).toEqual([13, 'TOKEN_REVOKED'])
    expect(house.findings(true)).toEqual([])
  })
})

describe.concurrent('several deferred calls', () => {
  test('have one wait, and get their results one by one; each token is for the rest', async () => {
    const house = new House()
    const { id, token, told } = await parked(house, { tools: [BUILD, REVIEW] })
    const [build, review] = told.json.wait.asks.map(({ call_id }: { call_id: string }) => call_id)
    expect(house.count(id, 'run.waiting')).toBe(1)
    house.write('built', 'all green')
    house.write('read', 'looks good')
    const unnamed = await house.run(decides(token, '--result', 'built'))
    expect(unnamed.exit).toBe(2)
    expect(unnamed.stderr).toContain(`name the call with --call: ${build}, ${review}`)
    const shown = (await house.ok('show', 'a')).stdout
    expect(shown).toMatch(/^next .* --token - --call CALL_ID --result FILE$/m)
    expect((await house.ok('log', 'a')).stdout).toContain('waiting for the results of 2 calls, until ')
    expect((await house.run(decides(token, '--result', 'built', '--call', 'x'))).exit).toBe(2)
    const second = await house.run(decides(token, '--result', 'read', '--call', review, '--json'))
    expect(second).toMatchObject({ exit: 5, json: { wait: { asks: [{ call_id: build }] } } })
    // The repeated result gets the same outcome: the turn still waits.
    const repeated = await house.run(decides(token, '--result', 'read', '--call', review, '--json'))
    expect(repeated).toMatchObject({ exit: 5, json: { wait: { token_id: second.json.wait.token_id } } })
    const last = await house.run(decides(second.json.wait.token, '--result', 'built'))
    expect(last).toMatchObject({ exit: 0, stdout: 'finished\n' })
    expect(resultsOf(house, id)).toEqual([
      ['looks good', false],
      ['all green', false],
    ])
    expect(house.count(id, 'tool.deferred')).toBe(2)
    expect(house.findings(true)).toEqual([])
  })

  test('wait after the approval of other calls of the response', async () => {
    const house = new House()
    const { id, token, told } = await parked(house, { tools: [BUILD, MARKS] })
    expect(told.json.wait).toMatchObject({ kind: 'approval', asks: [{ tool: 'shell' }] })
    const approved = await house.run(decides(token, '--approve', '--json'))
    expect(approved).toMatchObject({ exit: 5, json: { wait: { kind: 'tool_result' } } })
    expect(ran(house)).toBe(1)
    house.write('result', 'all green')
    expect((await house.run(decides(approved.json.wait.token, '--result', 'result'))).stdout).toBe(
      'finished\n',
    )
    expect(resultsOf(house, id)).toHaveLength(2)
  })
})

test('a tool of a tool server defers its result by `_meta`, and its text is shown in the log', async () => {
  const house = new House()
  const { command, args } = serverThat('well')
  await house.ok('config', 'set', 'mcp_servers', JSON.stringify({ notes: { command, args } }))
  const option = house.scenario(
    's.json',
    { tools: [{ name: 'notes__order', input: {} }] },
    { say: 'finished' },
  )
  const id = await house.spawn('a', '--option', option, '--allow', 'all')
  const sent = await house.run(['send', 'a', 'go', '--json'])
  expect(sent).toMatchObject({ exit: 5, json: { wait: { kind: 'tool_result' } } })
  expect((await house.ok('log', 'a')).stdout).toContain(
    'notes__order waits for its result from elsewhere: order 12 is placed',
  )
  house.write('result', 'delivered')
  expect((await house.run(decides(sent.json.wait.token, '--result', 'result'))).stdout).toBe('finished\n')
  expect(resultsOf(house, id)).toEqual([['delivered', false]])
})

describe.concurrent('a deferred call of a tool server, killed after it has started and before its deferral is recorded', () => {
  async function killed(): Promise<{ house: House; id: string; orders: () => number }> {
    const house = House.ofProcesses()
    const count = join(house.workspace, 'orders')
    const { command, args } = serverThat('counts orders', count)
    await house.ok('config', 'set', 'mcp_servers', JSON.stringify({ notes: { command, args } }))
    const responses = [{ tools: [{ name: 'notes__order', input: {} }] }, { say: 'finished' }]
    const option = house.scenario('s.json', ...responses)
    const id = await house.spawn('a', '--option', option, '--allow', 'all')
    const sender = house.start(['send', 'a', 'go', '--key', 'k'])
    await house.waitForRecord(id, 'tool.started')
    await waitFor(() => existsSync(count), 'the order')
    await sender.kill()
    expect(house.kinds(id)).not.toContain('tool.deferred')
    expect(house.kinds(id)).not.toContain('token.minted')
    return { house, id, orders: () => readFileSync(count, 'utf8').split('\n').length - 1 }
  }

  test('is not repeated: no command continues the turn, and no token exists', async () => {
    const { house, id, orders } = await killed()
    for (const round of [1, 2]) {
      const recovered = await house.run(['recover', '--all'])
      expect(recovered.exit, `${round}: ${recovered.stderr}`).toBe(6)
    }
    expect(house.findings(true)).toEqual([])
    const [result, ...more] = resultsOf(house, id)
    expect(result).toEqual([expect.stringContaining('outcome'), true])
    expect([more, orders()]).toEqual([[], 1])
    const kinds = house.kinds(id)
    expect(kinds).not.toContain('tool.deferred')
    expect(kinds).not.toContain('token.minted')
    expect((await house.run(['token', 'rotate', 'a'])).exit).toBe(13)
  })

  test('leaves the decision to the model after resume: it gets one result, and the order is placed once', async () => {
    const { house, id, orders } = await killed()
    expect((await house.run(['recover', '--all'])).exit).toBe(6)
    expect(await house.run(['resume', 'a'])).toMatchObject({ exit: 0, stdout: 'finished\n' })
    expect(await house.run(['send', 'a', 'go', '--key', 'k'])).toMatchObject({
      exit: 0,
      stdout: 'finished\n',
    })
    expect(resultsOf(house, id)).toEqual([[expect.stringContaining('outcome'), true]])
    expect([house.count(id, 'tool.started'), orders()]).toEqual([1, 1])
    expect(house.findings(true)).toEqual([])
  })
})
