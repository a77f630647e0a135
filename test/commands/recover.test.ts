import { readdirSync, rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House, type Result } from '../support/cli.js'
import { Gate } from '../support/gate.js'

interface Line {
  agent: string
  name: string
  row: string
  outcome: string
  exit: number
  error: { code: string } | null
}

const lines = ({ stdout }: Result): Line[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

const byName = (result: Result): Record<string, Line> =>
  Object.fromEntries(lines(result).map((line) => [line.name, line]))

/** Three agents: `clean`, one that died in a model's turn, one that died in a program's. */
async function wreck(house: House): Promise<{ clean: string; model: string; program: string; gate: Gate }> {
  const gate = new Gate(house, 'g')
  const [clean, model, program] = await Promise.all([
    house.spawn('clean'),
    house.spawn('model', '--option', house.scenario('s.json', { delay_ms: 3_600_000 })),
    house.spawn('program', ...gate.flags),
  ])
  await house.ok('send', 'clean', 'hello')
  const senders = ['model', 'program'].map((name) => house.start(['send', name, 'one']))
  await Promise.all([house.waitForRecord(model, 'model.requested'), gate.isReached()])
  await Promise.all(senders.map((sender) => sender.kill()))
  house.scenario('s.json', { say: 'late' })
  return { clean, model, program, gate }
}

describe.concurrent('recover', () => {
  test('--all continues interrupted turns with one JSON line per agent, and a second run finds nothing', async () => {
    const house = new House()
    const { model, program, gate } = await wreck(house)
    const died = (await house.ok('show', 'model', '--json')).json.last_boot_seen
    expect(died).toEqual(expect.any(String))
    gate.open()
    gate.open()
    const first = await house.run(['recover', '--all', '--json'])
    expect(first.exit).toBe(0)
    const told = byName(first)
    expect(told.clean).toMatchObject({ row: 'A', outcome: 'clean', exit: 0 })
    expect(told.model).toStrictEqual({
      agent: model,
      name: 'model',
      row: 'C',
      found: 'model asked, no response',
      outcome: 'continued',
      run: {
        id: expect.any(String),
        status: 'completed',
        started_at: expect.any(String),
        ended_at: expect.any(String),
        usage: { input_tokens: 1, output_tokens: 1 },
      },
      shown_status: 'idle',
      exit: 0,
      error: null,
    })
    expect(told.program).toMatchObject({ row: 'J', outcome: 'continued', run: { status: 'completed' } })
    expect(house.count(program, 'run.interrupted')).toBe(1)
    expect(house.count(model, 'run.interrupted')).toBe(0)
    const resumed = house.records(model).find(({ kind }) => kind === 'run.resumed')
    const shown = await house.ok('show', 'model', '--json')
    expect(shown.json.last_boot_seen).toBe((resumed as { boot_id: string }).boot_id)
    expect(shown.json.last_boot_seen).not.toBe(died)
    const logs = house.logs()
    const second = await house.run(['recover', '--all', '--json'])
    expect(second).toMatchObject({ exit: 0, stdout: '' })
    expect(house.logs()).toEqual(logs)
    expect(house.findings(true)).toEqual([])
  })

  test('checks every agent after a reboot, then only marked ones', async () => {
    const house = new House()
    await Promise.all([house.spawn('a'), house.spawn('b')])
    expect(lines(await house.run(['recover', '--all', '--json']))).toHaveLength(2)
    const nothing = await house.run(['recover', '--all'])
    expect(nothing).toMatchObject({ exit: 0, stdout: '', stderr: 'substrat: nothing to recover\n' })
    for (const boot of readdirSync(`${house.home}/boots`)) rmSync(`${house.home}/boots/${boot}`)
    const logs = house.logs()
    const scanned = await house.run(['recover', '--all', '--json'])
    expect(byName(scanned)).toMatchObject({ a: { outcome: 'clean' }, b: { outcome: 'clean' } })
    expect(house.logs()).toEqual(logs)
    const id = (await house.run(['show', 'a', '--json'])).json.agent.id
    house.mark(id)
    expect(lines(await house.run(['recover', '--all', '--json'])).map(({ agent }) => agent)).toEqual([id])
  })

  test('--continue none repairs and marks, and exits with the first nonzero status', async () => {
    const house = new House()
    const { model, program, gate } = await wreck(house)
    const marked = await house.run(['recover', '--all', '--continue', 'none', '--json'])
    expect(marked.exit).toBe(6)
    expect(byName(marked)).toMatchObject({
      clean: { outcome: 'clean', exit: 0 },
      model: { outcome: 'marked', exit: 6, error: { code: 'INTERRUPTED' } },
      program: { outcome: 'marked', exit: 6, error: { code: 'INTERRUPTED' } },
    })
    for (const id of [model, program]) expect(house.count(id, 'run.interrupted')).toBe(1)
    const logs = house.logs()
    expect((await house.run(['recover', '--all', '--continue', 'none'])).exit).toBe(6)
    expect(house.logs()).toEqual(logs)
    for (const _ of 'ab') gate.open()
    expect((await house.run(['recover', '--all'])).exit).toBe(0)
    for (const id of [model, program]) expect(house.count(id, 'run.interrupted')).toBe(1)
    expect(house.findings(true)).toEqual([])
  })

  test('running twice at once, does each step once', async () => {
    const house = new House()
    const { model, program, gate } = await wreck(house)
    gate.open()
    gate.open()
    const both = await Promise.all([1, 2, 3].map(() => house.run(['recover', '--all', '--json'])))
    expect(
      both.map(({ exit }) => exit),
      both.map(({ stdout, stderr }) => stdout + stderr).join(''),
    ).toEqual([0, 0, 0])
    const outcomes = both.map((result) => byName(result))
    for (const [name, id] of [
      ['model', model],
      ['program', program],
    ] as const) {
      expect(outcomes.filter((told) => told[name]?.outcome === 'continued')).toHaveLength(1)
      expect(house.count(id, 'message.agent')).toBe(1)
    }
    expect(house.count(program, 'run.interrupted')).toBe(1)
    expect(house.findings(true)).toEqual([])
  })

  test('skips an agent that a living process holds', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'one'])
    await gate.isReached()
    const log = house.log(id)
    const recovered = await house.run(['recover', '--all', '--json'])
    expect(recovered.exit).toBe(0)
    expect(lines(recovered)).toMatchObject([{ agent: id, name: 'a', row: null, outcome: 'held', exit: 0 }])
    expect((await house.run(['recover', 'a'])).stdout).toBe(
      `a (${id.slice(0, 8)}): another process is running it\n`,
    )
    expect(house.log(id)).toBe(log)
    gate.open()
    expect((await sender.result).stdout).toBe('done: one\n')
  })

  test('reports a damaged agent and recovers the others', async () => {
    const house = new House()
    const { clean, model, gate } = await wreck(house)
    house.damage(clean, (log) => log.replace('"hello"', '"hellO"'))
    // Without the snapshot, the log is read from its beginning.
    rmSync(house.agentFile(clean, 'session.json'))
    gate.open()
    gate.open()
    const recovered = await house.run(['recover', '--all', '--json'])
    expect(recovered.exit).toBe(10)
    expect(lines(recovered).find(({ agent }) => agent === clean)).toMatchObject({
      outcome: 'failed',
      exit: 10,
      error: { code: 'CORRUPT' },
    })
    expect(house.count(model, 'run.completed')).toBe(1)
    // It stays marked, so the next run reports it again.
    expect(lines(await house.run(['recover', '--all', '--json'])).map(({ agent }) => agent)).toEqual([clean])
  })

  test('delivers pending mail', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'one'])
    await gate.isReached()
    await house.ok('send', 'a', 'two', '--if-busy', 'queue')
    await sender.kill()
    await house.ok('set', 'a', '--option', 'command=cat')
    expect((await house.run(['recover', 'a', '--json'])).exit).toBe(0)
    expect((await house.run(['show', 'a', '--reply'])).stdout).toBe('two\n')
    expect(house.inbox(id)).toEqual([])
    expect(house.findings(true)).toEqual([])
  })

  test('prints one line per agent, and the reason of the exit status on stderr', async () => {
    const house = new House()
    const { gate, model, program } = await wreck(house)
    const marked = await house.run(['recover', 'model', 'program', '--continue', 'none'])
    expect(marked.stdout.split('\n')).toEqual([
      `model (${model.slice(0, 8)}): interrupted; the next command continues it [C: model asked, no response]`,
      `program (${program.slice(0, 8)}): interrupted; the next command continues it [J: agent provider in flight]`,
      '',
    ])
    expect(marked.stderr).toContain(
      'substrat: the turn of model was interrupted: its process died (continue it: substrat resume model)\n',
    )
    gate.open()
  })

  test('needs either names or --all', async () => {
    const house = new House()
    await house.spawn('a')
    for (const args of [[], ['a', '--all']]) {
      expect(await house.run(['recover', ...args])).toMatchObject({ exit: 2, stdout: '' })
    }
    expect((await house.run(['recover', 'nobody'])).exit).toBe(3)
  })

  test('works with the defaults if config.json or a variable is invalid, says so, and exits 2', async () => {
    const house = new House()
    const { gate } = await wreck(house)
    gate.open()
    gate.open()
    house.writeHome('config.json', '{"timeout": "soon"}')
    const recovered = await house.run(['recover', '--all'], { env: { SUBSTRAT_TURN_TIMEOUT: 'never' } })
    expect(recovered.exit).toBe(2)
    expect(recovered.stdout).toMatch(/: continued, completed /)
    expect(recovered.stderr).toMatch(
      /config\.json is invalid: line 1: timeout must be .*, not "soon"; using the defaults/,
    )
    expect(recovered.stderr).toMatch(/SUBSTRAT_TURN_TIMEOUT is invalid: .*; it is ignored/)
  })
})
