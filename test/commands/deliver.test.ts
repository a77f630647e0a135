import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { FileStore } from '../../src/storage/file-store.js'
import { House, type Result } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { posted } from '../support/mail.js'
import { waitFor } from '../support/wait.js'

const queue = (house: House, agent: string, content: string, ...flags: string[]): Promise<Result> =>
  house.ok('send', agent, content, '--queue', '--no-drain', ...flags)

interface Line {
  agent: string
  path: string
  turns: number
  status: string
  exit: number
  error: { code: string } | null
}

async function delivered(house: House, ...words: string[]): Promise<{ exit: number; lines: Line[] }> {
  const { exit, stdout } = await house.run(['deliver', ...words, '--json'])
  return {
    exit,
    lines: stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line),
  }
}

/** The state after a reboot: markers are not synced, and no command has checked the agents yet. */
function restartKernel(house: House): void {
  for (const name of ['unclean', 'boots'])
    for (const file of readdirSync(path.join(house.home, name))) rmSync(path.join(house.home, name, file))
}

describe.concurrent('deliver', () => {
  test('gives each message a turn, and prints one line per agent, with --json exactly the documented object', async () => {
    const house = new House()
    const a = await house.spawn('a')
    await house.spawn('b')
    await queue(house, 'a', 'one')
    await queue(house, 'a', 'two')
    const { exit, lines } = await delivered(house, 'a', 'b')
    expect(exit).toBe(0)
    const run = {
      id: expect.any(String),
      status: 'completed',
      started_at: expect.any(String),
      ended_at: expect.any(String),
      usage: expect.any(Object),
    }
    const idle = { status: 'idle', shown_status: 'idle', inbox: 0, exit: 0, error: null }
    expect(lines).toStrictEqual([
      { agent: a, path: 'a', turns: 2, run, ...idle },
      { agent: expect.any(String), path: 'b', turns: 0, run: null, ...idle },
    ])
    expect(house.count(a, 'run.completed')).toBe(2)
    expect(await house.run(['deliver', 'a'])).toMatchObject({ exit: 0, stdout: 'a: 0 turns, idle\n' })
  })

  test('--all prints no line for agents without pending work', async () => {
    const house = new House()
    for (const name of ['a', 'b', 'c']) await house.spawn(name)
    await queue(house, 'b', 'hi')
    expect(await house.run(['deliver', '--all'])).toMatchObject({ exit: 0, stdout: 'b: 1 turn, completed\n' })
    expect(await house.run(['deliver', '--all'])).toMatchObject({
      exit: 0,
      stdout: '',
      stderr: 'substrat: nothing to deliver\n',
    })
  })

  test('needs either names or --all', async () => {
    const house = new House()
    await house.spawn('a')
    for (const words of [[], ['a', '--all']]) expect((await house.run(['deliver', ...words])).exit).toBe(2)
    expect((await house.run(['deliver', 'a', 'nobody'])).exit).toBe(3)
  })

  test('continues an interrupted turn, also of an agent that works for another', async () => {
    const house = new House()
    const scenario = house.scenario('s.json', { delay_ms: 3_600_000 })
    const ids = [await house.spawn('root', '--option', scenario)]
    ids.push(await house.spawn('child', '--parent', 'root', '--option', scenario))
    for (const id of ids) {
      posted(FileStore.openForWrite(house.home), id, 'go', id === ids[1] ? { from: ids[0] as string } : {})
      const killed = house.start(['deliver', id])
      await house.waitForRecord(id, 'model.requested')
      await killed.kill()
    }
    house.scenario('s.json', { say: 'done' })
    const { exit, lines } = await delivered(house, '--all')
    expect(exit).toBe(0)
    // The child's reply has started another turn of the root.
    expect(new Map(lines.map(({ path, turns }) => [path, turns]))).toEqual(
      new Map([
        ['root', 2],
        ['root/child', 1],
      ]),
    )
    for (const id of ids) expect(house.kinds(id)).toContain('run.resumed')
    expect(house.findings(true)).toEqual([])
  })

  test('checks every agent after a reboot, then only marked ones', async () => {
    const house = new House()
    await house.spawn('a')
    const b = await house.spawn('b')
    await queue(house, 'b', 'one')
    restartKernel(house)
    expect((await delivered(house, '--all')).lines).toMatchObject([{ agent: b, turns: 1 }])
    await queue(house, 'b', 'two')
    rmSync(path.join(house.home, 'unclean', b))
    expect((await delivered(house, '--all')).lines).toEqual([])
    restartKernel(house)
    expect((await delivered(house, '--all')).lines).toMatchObject([{ agent: b, turns: 1 }])
  })

  test('twice at once gives every message one turn', async () => {
    const house = new House()
    const ids: string[] = []
    for (let n = 0; n < 8; n++) ids.push(await house.spawn(`a${n}`))
    const store = FileStore.openForWrite(house.home)
    for (const id of ids) for (let n = 0; n < 5; n++) posted(store, id, `m${n}`)
    const both = await Promise.all([delivered(house, '--all'), delivered(house, '--all')])
    expect(both.map(({ exit }) => exit)).toEqual([0, 0])
    const turns = both.flatMap(({ lines }) => lines.map(({ turns }) => turns))
    expect(turns.reduce((sum, each) => sum + each, 0)).toBe(40)
    for (const id of ids) {
      expect(house.count(id, 'mail.delivered')).toBe(5)
      expect(house.inbox(id)).toEqual([])
    }
    expect(house.findings(true)).toEqual([])
  })

  test('skips an agent that another process holds', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const holder = house.start(['send', 'a', 'one'])
    await gate.isReached()
    await queue(house, 'a', 'two')
    expect((await delivered(house, '--all')).lines).toMatchObject([{ turns: 0, status: 'running', exit: 0 }])
    gate.open()
    gate.open()
    expect((await holder.result).exit).toBe(0)
    expect(house.count(id, 'run.completed')).toBe(2)
  })

  test('exits with the first nonzero status in the order of the names', async () => {
    const house = new House()
    await house.spawn('fine')
    await house.spawn('fails', '--provider', 'exec', '--option', 'command=exit 3')
    const asks = house.scenario('s.json', { tools: [{ name: 'shell', input: { command: 'true' } }] })
    await house.spawn('asks', '--option', asks)
    for (const name of ['fine', 'fails', 'asks']) await queue(house, name, 'go')
    const { exit, lines } = await delivered(house, 'fine', 'asks', 'fails')
    expect(exit).toBe(5)
    expect(lines.map(({ path, exit, error }) => [path, exit, error?.code])).toEqual([
      ['fine', 0, undefined],
      ['asks', 5, 'WAITING'],
      ['fails', 9, 'PROVIDER_FAILED'],
    ])
  })

  test('gives the reason why a named agent cannot run; with --all that is not a failure', async () => {
    const house = new House()
    await house.spawn('held')
    await house.spawn('gated')
    await house.ok('suspend', 'held', '--hold')
    await house.ok('gate', 'gated')
    for (const name of ['held', 'gated']) await queue(house, name, 'hi')
    const named = await delivered(house, 'held', 'gated')
    expect(named.exit).toBe(13)
    expect(named.lines.map(({ error }) => error?.code)).toEqual(['ON_HOLD', 'GATED'])
    const all = await delivered(house, '--all')
    expect(all.exit).toBe(0)
    expect(all.lines).toMatchObject([
      { turns: 0, inbox: 1 },
      { turns: 0, inbox: 1 },
    ])
  })

  test('a damaged log is exit 10 and does not stop the other agents', async () => {
    const house = new House()
    const bad = await house.spawn('bad')
    const good = await house.spawn('good')
    for (const name of ['bad', 'good']) await queue(house, name, 'hi')
    house.damage(bad, (log) => log.replace('session.created', 'session.creatXX'))
    const { exit, lines } = await delivered(house, '--all')
    expect(exit).toBe(10)
    expect(new Map(lines.map(({ agent, exit }) => [agent, exit]))).toEqual(
      new Map([
        [bad, 10],
        [good, 0],
      ]),
    )
    expect(house.count(good, 'run.completed')).toBe(1)
  })

  test('a marker of an agent that was never created is removed', async () => {
    const house = new House()
    await house.spawn('a')
    const id = '00000000-0000-4000-8000-000000000001'
    house.mark(id)
    writeFileSync(path.join(house.home, 'config.json'), '{}')
    expect((await delivered(house, '--all')).exit).toBe(0)
    expect(readdirSync(path.join(house.home, 'unclean'))).not.toContain(id)
  })

  test('after a signal the turn finishes, no other starts, and stderr names the pending ones', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1' })
    const gate = new Gate(house, 'g')
    const a = await house.spawn('a', ...gate.flags)
    const b = await house.spawn('b')
    for (const name of ['a', 'b']) await queue(house, name, 'hi')
    const running = house.start(['deliver', 'a', 'b', '--json'])
    await gate.isReached()
    running.child.kill('SIGTERM')
    await running.says('letting the turn finish')
    gate.open()
    expect((await running.result).stderr).toContain(`messages are still pending for agent ${b}`)
    expect(house.count(a, 'run.completed')).toBe(1)
    expect(house.inbox(b)).toHaveLength(1)
  })
})

describe.concurrent('a message for a time', () => {
  test('is delivered by the first command after that time, not earlier', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const at = Date.now() + 1500
    await house.ok('send', 'a', 'in two hours', '--not-before', '2h')
    await house.ok('send', 'a', 'soon', '--not-before', new Date(at).toISOString())
    // Turns before that time deliver neither message.
    await house.ok('send', 'a', 'now')
    await delivered(house, '--all')
    await waitFor(() => Date.now() >= at, 'the time')
    await delivered(house, '--all')
    expect(house.inbox(id)).toHaveLength(1)
    const [delivery] = house.records(id).filter(({ kind }) => kind === 'mail.delivered')
    expect(Date.parse(delivery?.ts ?? '')).toBeGreaterThanOrEqual(at)
    expect(delivery).toMatchObject({ content: 'soon', mail_kind: 'request' })
  })
})
