import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House, type Result, type Running } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { waitFor } from '../support/wait.js'

const queue = (house: House, agent: string, content = 'go', ...flags: string[]): Promise<Result> =>
  house.ok('send', agent, content, '--queue', '--no-drain', ...flags)

const asks = { tools: [{ name: 'shell', input: { command: 'true' } }] }

const lines = (stdout: string): { path: string; reply: string; exit: number; code: string }[] =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .map(({ agent, reply, exit, error }) => ({ path: agent.path, reply, exit, code: error?.code }))

/** A running wait: it has printed the reply of an idle agent and waits for another agent. */
async function waitingFor(house: House, agent: string, ...flags: string[]): Promise<Running> {
  const { exit } = await house.run(['spawn', 'hi', '--name', 'rest'])
  expect([0, 13]).toContain(exit)
  const waiting = house.start(['wait', 'rest', agent, ...flags])
  await waitFor(() => waiting.stdout.startsWith(REST), 'the wait')
  return waiting
}

const REST = '==> rest <==\necho: hi\n\n'

/** The start and end times of an agent's runs. */
function times(house: House, id: string): { begun: number; ended: number } {
  const at = (kind: string): number =>
    Date.parse(house.records(id).find((record) => record.kind === kind)?.ts ?? '')
  return { begun: at('run.started'), ended: at('run.completed') }
}

describe.concurrent('wait', () => {
  test('runs free agents in parallel, and prints each latest reply under its name, in order', async () => {
    const house = new House()
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) {
      const scenario = house.scenario(`${name}.json`, { after_file: 'go', say: `from ${name}` })
      ids.push(await house.spawn(name, '--option', scenario))
      await queue(house, name)
    }
    const waiting = house.run(['wait', 'c', 'a', 'b'])
    for (const id of ids) await house.waitForRecord(id, 'model.requested')
    house.write('go', '')
    const { exit, stdout } = await waiting
    expect(exit).toBe(0)
    expect(stdout).toBe('==> c <==\nfrom c\n\n==> a <==\nfrom a\n\n==> b <==\nfrom b\n')
  })

  test('runs no more turns at once than there are slots', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1' })
    const runs: { begun: number; ended: number }[] = []
    const scenario = house.scenario('s.json', { delay_ms: 200, say: 'done' })
    const ids = [await house.spawn('a', '--option', scenario), await house.spawn('b', '--option', scenario)]
    for (const name of ['a', 'b']) await queue(house, name)
    expect((await house.run(['wait', 'a', 'b'])).exit).toBe(0)
    for (const id of ids) runs.push(times(house, id))
    const [first, second] = runs.sort((x, y) => x.begun - y.begun)
    expect(second?.begun).toBeGreaterThanOrEqual(first?.ended as number)
  })

  test('prints only the reply of one agent, and with --json exactly the documented object', async () => {
    const house = new House()
    await house.spawn('a')
    await queue(house, 'a', 'hi')
    expect(await house.run(['wait', 'a'])).toMatchObject({ exit: 0, stdout: 'echo: hi\n' })
    const { json } = await house.ok('wait', 'a', '--json')
    const { agent, run } = (await house.ok('show', 'a', '--json')).json
    expect(json).toStrictEqual({ agent, run, reply: 'echo: hi', wait: null, exit: 0, error: null })
    // For idle agents no turn starts. An agent without turns is idle too.
    await house.spawn('b')
    const b = await house.ok('wait', 'b', '--json')
    expect(b.json).toMatchObject({ run: null, reply: null, exit: 0 })
  })

  test('continues interrupted turns', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    const sender = house.start(['send', 'a', 'hi'])
    await house.waitForRecord(id, 'model.requested')
    await sender.kill()
    house.scenario('s.json', { say: 'after all' })
    expect(await house.run(['wait', 'a'])).toMatchObject({ exit: 0, stdout: 'after all\n' })
  })

  test('an unknown agent, or none, stops it before it starts', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await queue(house, 'a')
    expect((await house.run(['wait', 'a', 'nobody'])).exit).toBe(3)
    expect((await house.run(['wait'])).exit).toBe(2)
    expect(house.count(id, 'run.started')).toBe(0)
  })
})

describe.concurrent('wait exits', () => {
  test('with the first nonzero outcome in the order of the arguments', async () => {
    const house = new House()
    await house.spawn('fine')
    await house.spawn('failed', '--provider', 'exec', '--option', 'command=exit 3')
    await house.spawn('waiting', '--option', house.scenario('w.json', asks))
    const limit = { fail: { type: 'rate_limit', retry_after_ms: 3_600_000, attempts: 9 } }
    await house.spawn('limited', '--option', house.scenario('l.json', limit))
    for (const name of ['fine', 'failed', 'waiting', 'limited']) await queue(house, name)
    for (const name of ['held', 'gated', 'late', 'bad']) await house.spawn(name)
    await house.ok('suspend', 'held', '--hold')
    await house.ok('gate', 'gated')
    for (const name of ['held', 'gated']) await queue(house, name)
    const slow = house.scenario('slow.json', { delay_ms: 3_600_000 })
    const victim = await house.spawn('cancelled', '--option', slow)
    await house.spawn('timed', '--option', slow)
    expect((await house.run(['send', 'timed', 'x', '--turn-timeout', '50ms'])).exit).toBe(12)
    const id = await house.spawn('stopped', '--option', slow)
    const sender = house.start(['send', 'stopped', 'x'])
    await house.waitForRecord(id, 'model.requested')
    await house.ok('suspend', 'stopped')
    expect((await sender.result).exit).toBe(6)
    const cancelled = house.start(['send', 'cancelled', 'x'])
    await house.waitForRecord(victim, 'model.requested')
    await house.ok('cancel', 'cancelled')
    expect((await cancelled.result).exit).toBe(14)
    const bad = (await house.ok('show', 'bad', '--json')).json.agent.id
    house.damage(bad, (log) => log.replace('session.created', 'session.creatXX'))
    const agents = [
      'fine',
      'failed',
      'waiting',
      'limited',
      'held',
      'gated',
      'timed',
      'stopped',
      'cancelled',
      bad,
    ]
    const told = await house.run(['wait', ...agents, '--json'])
    expect(lines(told.stdout).map(({ exit }) => exit)).toEqual([0, 9, 5, 7, 13, 13, 12, 6, 14, 10])
    expect(told.exit).toBe(9)
    expect((await house.run(['wait', 'fine', 'gated', 'failed'])).exit).toBe(13)
    // One line for each failed agent, and nothing on stdout.
    const text = await house.run(['wait', 'gated', 'failed'])
    expect(text.stdout).toBe('')
    expect(text.stderr.match(/^substrat: /gm)).toHaveLength(2)
  })

  test('after it printed the token of a turn that it ran, once', async () => {
    const house = new House()
    await house.spawn('a', '--option', house.scenario('w.json', asks, { say: 'done' }))
    await queue(house, 'a')
    const { json, exit } = await house.run(['wait', 'a', '--json'])
    expect([exit, json.wait.kind]).toEqual([5, 'approval'])
    const again = await house.run(['wait', 'a', '--json'])
    expect([again.exit, again.json.wait.token]).toEqual([5, null])
    expect(await house.run(['resume', 'a', '--token', json.wait.token, '--approve'])).toMatchObject({
      exit: 0,
      stdout: 'done\n',
    })
  })

  test('12 after --timeout, and the turn of another process continues', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    await house.spawn('b')
    const sender = house.start(['send', 'a', 'hi'])
    await gate.isReached()
    const { exit, stdout } = await house.run(['wait', 'b', 'a', '--timeout', '300ms', '--json'])
    expect(exit).toBe(12)
    expect(lines(stdout)).toMatchObject([
      { path: 'b', exit: 0 },
      { path: 'a', exit: 12, code: 'TIMED_OUT' },
    ])
    gate.open()
    expect(await sender.result).toMatchObject({ exit: 0, stdout: 'done: hi\n' })
    expect(house.count(id, 'run.interrupted')).toBe(0)
  })

  test('12 after --timeout and shutdown_grace of its own turn, which the next command continues', async () => {
    const house = new House({ SUBSTRAT_SHUTDOWN_GRACE: '100ms' })
    const id = await house.spawn('a', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    await queue(house, 'a')
    // On a machine that is too slow to start the turn in time, run again with twice the time.
    for (let seconds = 1; house.count(id, 'model.requested') === 0; seconds *= 2)
      expect((await house.run(['wait', 'a', '--timeout', `${seconds}s`])).exit).toBe(12)
    expect(house.count(id, 'run.interrupted')).toBe(1)
    house.scenario('s.json', { say: 'after all' })
    expect(await house.run(['wait', 'a'])).toMatchObject({ exit: 0, stdout: 'after all\n' })
  })
})

describe.concurrent('Ctrl-C while waiting', () => {
  test('ends the wait at once with 130, and stops no turn of another process', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'hi'])
    await gate.isReached()
    const waiting = await waitingFor(house, 'a')
    waiting.child.kill('SIGINT')
    const { exit, stdout, stderr } = await waiting.result
    expect([exit, stdout]).toEqual([130, REST])
    expect(stderr).toMatch(
      /^substrat: stopped by SIGINT while waiting for a \(keep waiting: substrat wait a\)\n$/,
    )
    gate.open()
    expect(await sender.result).toMatchObject({ exit: 0, stdout: 'done: hi\n' })
    expect(house.count(id, 'run.completed')).toBe(1)
  })

  test('waits for its own turn to finish, and prints the reply', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    await house.spawn('a', ...gate.flags)
    await queue(house, 'a', 'hi')
    const waiting = house.start(['wait', 'a'])
    await gate.isReached()
    waiting.child.kill('SIGINT')
    await waiting.says('SIGINT: letting the turn finish')
    gate.open()
    expect(await waiting.result).toMatchObject({ exit: 0, stdout: 'done: hi\n' })
  })
})

describe.concurrent('wait --no-drain', () => {
  test('only watches: it waits for the turn of another process, and leaves messages pending', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    await queue(house, 'a', 'hi')
    const waiting = await waitingFor(house, 'a', '--no-drain')
    expect(house.count(id, 'run.started')).toBe(0)
    const deliver = house.start(['deliver', 'a'])
    await gate.isReached()
    expect(waiting.stdout).toBe(REST)
    gate.open()
    expect(await waiting.result).toMatchObject({ exit: 0, stdout: `${REST}==> a <==\ndone: hi\n` })
    await deliver.result
  })

  test('reports a turn as interrupted whose process is dead', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    const sender = house.start(['send', 'a', 'hi'])
    await house.waitForRecord(id, 'model.requested')
    await sender.kill()
    const log = house.log(id)
    expect((await house.run(['wait', 'a', '--no-drain'])).exit).toBe(6)
    expect(house.log(id)).toBe(log)
  })
})

describe.concurrent('wait --for', () => {
  test('waiting exits 0 when the agent asks, and idle waits past the decision', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('w.json', asks, { say: 'done' }))
    const early = house.start(['wait', 'a', '--for', 'waiting', '--no-drain'])
    await queue(house, 'a')
    expect((await house.run(['wait', 'a', '--for', 'waiting'])).exit).toBe(0)
    expect((await early.result).exit).toBe(0)
    const idle = await waitingFor(house, 'a', '--for', 'idle')
    expect((await house.run(['wait', 'a', '--for', 'any'])).exit).toBe(5)
    expect((await house.run(['wait', 'a', '--for', 'idle', '--timeout', '200ms'])).exit).toBe(12)
    await house.ok('approve', 'a')
    expect(await idle.result).toMatchObject({ exit: 0, stdout: `${REST}==> a <==\ndone\n` })
    await house.ok('terminate', 'a')
    expect((await house.run(['wait', id, '--for', 'waiting'])).exit).toBe(13)
    expect(await house.run(['wait', id])).toMatchObject({ exit: 0, stdout: 'done\n' })
  })
})

describe.concurrent("wait inside an agent's tool", () => {
  test('for its own agent, or for one that waits for it, is refused as a deadlock', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const a = await house.spawn('a', ...gate.flags)
    const b = await house.spawn('b', '--parent', 'a')
    const self = await house.run(['wait', a, '--json'], { env: { SUBSTRAT_AGENT: a } })
    expect([self.exit, self.json.error.code]).toEqual([13, 'DEADLOCK'])
    const sender = house.start(['send', 'a', 'hi'])
    await gate.isReached()
    const above = house.start(['wait', a], { env: { SUBSTRAT_AGENT: b } })
    await waitFor(() => existsSync(house.agentFile(b, 'waits')), 'the wait')
    const back = await house.run(['wait', b, '--json'], { env: { SUBSTRAT_AGENT: a } })
    expect([back.exit, back.json.error.code]).toEqual([13, 'DEADLOCK'])
    gate.open()
    expect((await above.result).exit).toBe(0)
    await sender.result
    expect((await house.run(['wait', b], { env: { SUBSTRAT_AGENT: a } })).exit).toBe(0)
  })
})

describe.concurrent('wait for many agents', () => {
  const words = (stdout: string): string[] => stdout.split('\n').filter(Boolean).sort()

  test('--all ends when nothing runs, also in agents that get work or appear during the wait', async () => {
    const house = new House()
    const child = { tools: [{ name: 'spawn_agent', input: { name: 'kid', message: 'help' } }] }
    await house.spawn('idle')
    const lead = house.scenario(
      'lead.json',
      { after_file: 'go', ...child },
      { say: 'asked' },
      { say: 'heard' },
    )
    const id = await house.spawn('lead', '--option', lead, '--allow', 'all')
    await queue(house, 'lead')
    const waiting = house.run(['wait', '--all'])
    await house.waitForRecord(id, 'model.requested')
    house.write('go', '')
    const { exit, stdout, stderr } = await waiting
    expect([exit, words(stdout)]).toEqual([0, ['idle: idle', 'lead/kid: idle', 'lead: idle']])
    // A pipe gets no progress.
    expect(stderr).not.toMatch(/\d of \d/)
  })

  test('--all names the agents that need a person, and exits with the worst status', async () => {
    const house = new House()
    await house.spawn('a', '--option', house.scenario('a.json', asks))
    await house.spawn('b', '--option', house.scenario('b.json', { fail: { type: 'invalid' } }))
    for (const name of ['a', 'b']) await queue(house, name)
    const { exit, stdout, stderr } = await house.run(['wait', '--all'])
    expect(exit).toBe(9)
    expect(words(stdout)).toEqual(['a: waiting', 'b: failed'])
    expect(stderr).toContain('substrat approve a')
    const json = (await house.run(['wait', '--all', 'a', '--json'])).stdout
    expect(lines(json)).toMatchObject([{ path: 'a', exit: 5, code: 'WAITING' }])
  })

  test('--all AGENT waits for the agents below it, and --from me for those without a parent', async () => {
    const house = new House()
    for (const name of ['one', 'two']) await house.spawn(name)
    await house.spawn('kid', '--parent', 'one')
    await house.spawn('gone')
    await house.ok('terminate', 'gone')
    expect(words((await house.ok('wait', '--all', 'one')).stdout)).toEqual(['one/kid: idle', 'one: idle'])
    expect(words((await house.ok('wait', '--from', 'me')).stdout)).toEqual(['one: idle', 'two: idle'])
  })

  test('in a turn, --all and --from me mean agents below the agent, and never the agent', async () => {
    const house = new House()
    const command = ['--all', '--from me']
      .map((flags) => `${house.command('wait').join(' ')} ${flags}`)
      .join('; ')
    const script = { tools: [{ name: 'shell', input: { command } }] }
    await house.spawn('lead', '--option', house.scenario('s.json', script, { say: 'done' }), '--allow', 'all')
    await house.spawn('kid', '--parent', 'lead')
    await house.spawn('grandkid', '--parent', 'lead/kid')
    await house.spawn('other')
    await house.ok('send', 'lead', 'go')
    const log = (await house.ok('log', 'lead')).stdout
    expect(log.match(/^.*kid: idle.*$/gm)?.map((line) => line.trim())).toHaveLength(3)
    expect(log).not.toMatch(/(other|lead): idle/)
  })

  test('--timeout ends it with 12 and says which agent is not done', async () => {
    const house = new House()
    await house.spawn('slow', '--option', house.scenario('s.json', { after_file: 'never', say: 'x' }))
    await queue(house, 'slow')
    await house.spawn('rest')
    const { exit, stderr } = await house.run(['wait', '--all', '--no-drain', '--timeout', '1s'])
    expect(exit).toBe(12)
    expect(stderr).toContain('timed out waiting for slow')
  })

  test('without agents it needs --all, and --all of an empty home ends at once', async () => {
    const house = new House()
    expect((await house.run(['wait'])).stderr).toContain('substrat wait --all')
    expect(await house.run(['wait', '--all'])).toMatchObject({ exit: 0, stdout: '' })
    await house.spawn('a')
    expect((await house.run(['wait', 'a', '--from', 'me'])).exit).toBe(2)
  })
})
