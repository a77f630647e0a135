import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

/** A model whose key is the file `key` in the workspace, and whose program is the file `program`. It counts the questions in `asked`. */
const KEYED = `
  import { appendFileSync, existsSync } from 'node:fs'
  const fail = (type, message) => { throw Object.assign(new Error(message), { failure: { type } }) }
  export default {
    kind: 'model',
    description: 'needs a key',
    options: {},
    check: ({ workspace }) => existsSync(workspace + '/key') || fail('authentication', 'no API key: set NIGHT_KEY'),
    async ready({ workspace }, { signal }) {
      appendFileSync(workspace + '/asked', signal.aborted ? 'late' : 'x')
      if (!existsSync(workspace + '/program')) fail('misconfigured', 'the program night is not in PATH')
    },
    async *complete() { yield { type: 'stop', reason: 'end' } },
  }`

async function houseWithKey(): Promise<House> {
  const house = new House()
  house.plugin('keyed', KEYED)
  for (const name of ['key', 'program']) house.write(name, '')
  await house.spawn('night', '--provider', 'keyed')
  await house.spawn('day')
  return house
}

const lines = (stdout: string): unknown[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('substrat check', () => {
  test('tells damaged settings and exits as send does, and so do deliver, recover and wait', async () => {
    const house = await houseWithKey()
    await house.ok('config', 'set', 'slots_max', '2')
    writeFileSync(path.join(house.home, 'config.json'), '{ damaged')
    const send = await house.run(['send', 'day', '--key', 'k', 'Go'])
    const [what] = /^substrat: .+config\.json is invalid: [^(]+(?= \()/.exec(send.stderr) ?? []
    expect([send.exit, what]).toEqual([2, expect.stringContaining('config.json')])
    const check = await house.run(['check', '--all'])
    expect(check).toMatchObject({ exit: 2, stdout: 'night: ready\nday: ready\n' })
    expect(check.stderr).toContain(what)
    for (const command of [
      ['deliver', '--all'],
      ['recover', '--all'],
      ['wait', 'night'],
      ['wait', '--all'],
    ]) {
      const { exit, stderr } = await house.run(command)
      expect([exit, stderr], command.join(' ')).toEqual([2, expect.stringContaining(what as string)])
    }
  })

  test('says of each agent that it is ready, or why it could not run, and exits with the first failure', async () => {
    const house = await houseWithKey()
    expect(await house.ok('check', '--all')).toMatchObject({
      stdout: 'night: ready\nday: ready\n',
      stderr: '',
    })
    rmSync(path.join(house.workspace, 'program'))
    expect(await house.run(['check', '--all'])).toMatchObject({
      exit: 8,
      stdout: 'day: ready\n',
      stderr: 'substrat: night could not run: the program night is not in PATH (substrat providers)\n',
    })
    rmSync(path.join(house.workspace, 'key'))
    const { exit, stdout } = await house.run(['check', 'day', 'night', '--json'])
    expect(exit).toBe(8)
    expect(lines(stdout)).toMatchObject([
      { path: 'day', provider: 'scripted', ready: true, exit: 0, error: null },
      {
        path: 'night',
        provider: 'keyed',
        ready: false,
        exit: 8,
        error: { code: 'PROVIDER_MISCONFIGURED', message: 'no API key: set NIGHT_KEY' },
      },
    ])
  })

  test('changes nothing, and asks a provider once for agents with the same settings', async () => {
    const house = await houseWithKey()
    await house.spawn('night2', '--provider', 'keyed')
    const logs = house.logs()
    await house.ok('check', '--all')
    expect(house.read('asked')).toBe('x')
    expect(house.logs()).toEqual(logs)
    expect(house.findings()).toEqual([])
  })

  test('names the message to send again once the agent that refused it is ready', async () => {
    const house = await houseWithKey()
    rmSync(path.join(house.workspace, 'key'))
    expect((await house.run(['send', 'night', '--key', 'n1', 'Go'])).exit).toBe(8)
    house.write('key', '')
    expect((await house.ok('check', 'night')).stdout).toBe(
      "night: ready; send the refused message again: substrat send night --key n1 '…'\n",
    )
  })

  test('without an agent asks the provider of new agents', async () => {
    const house = await houseWithKey()
    expect((await house.ok('check')).stdout).toBe('scripted: ready\n')
    await house.ok('config', 'set', 'provider', 'keyed')
    rmSync(path.join(house.workspace, 'key'))
    const env = { SUBSTRAT_PROVIDER: 'keyed' }
    expect(await house.run(['check', '--json'], { env })).toMatchObject({
      exit: 8,
      json: { agent: null, path: null, provider: 'keyed', ready: false },
    })
  })

  test('finds a provider that is not installed, a program that is not there, and a workspace that is gone', async () => {
    const house = await houseWithKey()
    await house.spawn('runs', '--provider', 'exec', '--option', 'command=no-such-program --flag')
    await house.spawn('shell', '--provider', 'exec', '--option', 'command=cat | tr a b')
    house.plugin('other', KEYED)
    const { exit, stdout, stderr } = await house.run(['check', '--all'])
    expect(exit).toBe(3)
    expect(stderr).toMatch(/night could not run: .*"keyed"/)
    expect(stderr).toContain('runs could not run: the program no-such-program is not in PATH')
    expect(stdout).toBe('day: ready\nshell: ready\n')
    rmSync(house.workspace, { recursive: true })
    const gone = await house.run(['check', 'day'], { cwd: house.root })
    expect(gone).toMatchObject({ exit: 2, stderr: expect.stringContaining('does not exist') })
  })

  test('leaves out terminated agents with --all, and does nothing without a home', async () => {
    const house = await houseWithKey()
    await house.ok('terminate', 'night')
    expect((await house.ok('check', '--all')).stdout).toBe('day: ready\n')
    expect(await new House().ok('check', '--all')).toMatchObject({ stdout: '', stderr: '' })
  })

  test('refuses agents together with --all', async () => {
    const house = await houseWithKey()
    expect((await house.run(['check', 'day', '--all'])).exit).toBe(2)
    expect((await house.run(['check', 'nobody'])).exit).toBe(3)
  })
})

test('an agent whose turns are blocked is ready, and the line names the block instead of a message to send again', async () => {
  const house = new House()
  await house.spawn('held')
  await house.ok('suspend', 'held', '--hold')
  await house.run(['send', 'held', 'hi', '--key', 'k'])
  await house.spawn('gated')
  await house.ok('gate', 'gated')
  const tools = [{ name: 'shell', input: { command: 'true' } }]
  await house.spawn('parked', '--option', house.scenario('s.json', { tools }, { say: 'ok' }))
  await house.run(['send', 'parked', 'go'])
  const { exit, stdout } = await house.run(['check', '--all'])
  expect(exit).toBe(0)
  expect(stdout.split('\n').sort()).toEqual([
    '',
    'gated: ready, but it is gated: substrat ungate gated',
    'held: ready, but it is on hold: substrat resume held',
    'parked: ready, but its turn waits: substrat approve parked',
  ])
})

test('a turn over its time limit is timed out in each line of show', async () => {
  const house = new House()
  await house.spawn('slow', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
  expect((await house.run(['send', 'slow', 'go', '--turn-timeout', '50ms'])).exit).toBe(12)
  expect((await house.ok('show', 'slow')).stdout).toMatch(/^latest turn +timed out, started/m)
})
