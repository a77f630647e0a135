/** A turn that cannot begin: the refusal is in the log once, people see it, and the message runs after the mend. */
import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { KEYED } from '../support/keyed.js'
import { linkPlugin } from '../support/plugin.js'
import { IN_POSTGRES } from '../support/postgres-homes.js'
import { targetServer } from '../support/targets.js'

/** A house with the agent `night`, whose key is gone. */
async function atNight(): Promise<{ house: House; id: string; mend: () => void; spoil: () => void }> {
  const house = new House()
  house.plugin('keyed', KEYED)
  const mend = (): void => void house.write('key', '')
  mend()
  const id = await house.spawn('night', '--provider', 'keyed')
  await house.ok('send', 'night', 'first', '--key', 'n0')
  const spoil = (): void => rmSync(path.join(house.workspace, 'key'))
  spoil()
  return { house, id, mend, spoil }
}

const GO = ['send', 'night', '--key', 'n1', 'Go']

describe('a message whose provider has no key', () => {
  test('exits 8 each minute and adds one record to the log', async () => {
    const { house, id } = await atNight()
    for (let minute = 0; minute < 5; minute++) expect(await house.run(GO)).toMatchObject({ exit: 8 })
    expect(house.records(id).filter(({ kind }) => kind === 'turn.refused')).toMatchObject([
      {
        cause: 'authentication',
        code: 'PROVIDER_MISCONFIGURED',
        message: 'no API key: set NIGHT_KEY',
        command: 'substrat send',
        key: 'n1',
        digest: expect.any(String),
      },
    ])
    expect(house.findings()).toEqual([])
  })

  test('has another record for another key, and one for all messages without a key', async () => {
    const { house, id } = await atNight()
    for (const key of ['n1', 'n2', 'n1']) await house.run(['send', 'night', '--key', key, 'Go'])
    for (let minute = 0; minute < 3; minute++) await house.run(['send', 'night', 'Go'])
    expect(house.count(id, 'turn.refused')).toBe(3)
  })

  test('is in show, list --json and log, with its cause, its key and the next command', async () => {
    const { house, id } = await atNight()
    await house.run(GO)
    const { json } = await house.ok('show', 'night', '--json')
    expect(json.next).toBe('substrat check night')
    const refusal = { cause: 'authentication', key: 'n1', message: 'no API key: set NIGHT_KEY' }
    expect(json.agent.refused).toMatchObject([refusal])
    expect((await house.ok('list', '--json')).json.agents).toMatchObject([
      { id, status: 'idle', shown_status: 'refused', refused: [refusal] },
    ])
    expect((await house.ok('list', '--status', 'refused')).stdout).toMatch(/^night .+ refused /m)
    expect((await house.ok('show', 'night')).stdout).toMatch(/^status +refused$/m)
    const { stdout } = await house.ok('show', 'night')
    expect(stdout).toMatch(/^refused +no API key: set NIGHT_KEY \(substrat send, since .+\)\n +keys: n1$/m)
    expect((await house.ok('log', 'night')).stdout).toContain(
      'turn refused, key n1: no API key: set NIGHT_KEY',
    )
  })

  test('never runs by deliver, recover, wait or resume', async () => {
    const { house, id, mend } = await atNight()
    await house.run(GO)
    mend()
    expect((await house.ok('deliver', '--all')).stderr).toContain('nothing to deliver')
    for (const command of [
      ['deliver', 'night'],
      ['recover', '--all'],
      ['wait', 'night'],
      ['resume', 'night'],
    ])
      await house.ok(...command)
    expect(house.count(id, 'run.started')).toBe(1)
    expect((await house.ok('show', 'night', '--json')).json.agent.refused).toHaveLength(1)
  })

  test('runs once when it is repeated after the mend, and then nothing is refused', async () => {
    const { house, id, mend } = await atNight()
    await house.run(GO)
    await house.run(GO)
    mend()
    for (let time = 0; time < 2; time++) expect((await house.ok(...GO)).stdout).toBe('slept well\n')
    expect(house.count(id, 'run.started')).toBe(2)
    expect((await house.ok('show', 'night', '--json')).json.agent).not.toHaveProperty('refused')
    expect(house.findings()).toEqual([])
  })

  test('leaves its key unused: another message may take it', async () => {
    const { house, mend } = await atNight()
    await house.run(GO)
    mend()
    expect((await house.ok('send', 'night', '--key', 'n1', 'Something else')).stdout).toBe('slept well\n')
  })

  test('notifies a target that asks for failures once, with the cause', async () => {
    const { house } = await atNight()
    const { url, received } = await targetServer()
    await house.ok('config', 'set', 'notify', JSON.stringify([{ name: 'me', on: ['failed'], url }]))
    for (let minute = 0; minute < 4; minute++) await house.run(GO)
    expect(received.map(({ body }) => JSON.parse(body))).toMatchObject([
      {
        event: 'failed',
        path: 'night',
        run_id: null,
        text: 'A turn of night was refused: no API key: set NIGHT_KEY\nsubstrat show night',
      },
    ])
  })
})

describe('a message whose program is not in PATH', () => {
  /** An agent whose program `nightly` is only in the PATH of `env`, as cron has another one. */
  async function withProgram(): Promise<{ house: House; id: string; env: Record<string, string> }> {
    const house = new House()
    const env = { PATH: `${path.join(house.workspace, 'bin')}:${process.env.PATH}` }
    mkdirSync(path.join(house.workspace, 'bin'))
    house.write('bin/nightly', '#!/bin/sh\ncat\n')
    chmodSync(path.join(house.workspace, 'bin/nightly'), 0o755)
    const id = await house.spawn('night', '--provider', 'exec', '--option', 'command=nightly')
    return { house, id, env }
  }

  test('is refused once before its turn in the words of check, and runs with its key after the mend', async () => {
    const { house, id, env } = await withProgram()
    const why = 'the program nightly is not in PATH'
    for (let minute = 0; minute < 3; minute++) {
      const { exit, stderr } = await house.run(GO)
      expect([exit, stderr]).toEqual([
        8,
        expect.stringContaining(`substrat: ${why} (install it, or correct PATH`),
      ])
    }
    const check = await house.run(['check', 'night'])
    expect(check.exit).toBe(8)
    expect(check.stderr).toContain(`night could not run: ${why} (install it, or correct PATH`)
    expect(house.records(id).filter(({ kind }) => kind === 'turn.refused')).toMatchObject([
      { cause: 'settings', code: 'PROVIDER_MISCONFIGURED', message: why, key: 'n1' },
    ])
    expect(house.count(id, 'run.started')).toBe(0)
    expect((await house.run(['check', 'night'], { env })).stdout).toContain('night: ready')
    for (let time = 0; time < 2; time++) expect((await house.run(GO, { env })).stdout).toBe('Go\n')
    expect(house.count(id, 'run.started')).toBe(1)
    expect(house.findings()).toEqual([])
  })

  test('stays in the inbox if it is mail, and is delivered after the mend', async () => {
    const { house, id, env } = await withProgram()
    await house.ok('send', 'night', '--queue', 'Later')
    for (let minute = 0; minute < 2; minute++) expect((await house.run(['deliver', '--all'])).exit).toBe(8)
    expect(house.kinds(id)).not.toContain('run.started')
    expect(house.count(id, 'turn.refused')).toBe(1)
    expect((await house.run(['deliver', '--all'], { env })).exit).toBe(0)
    expect(house.count(id, 'run.completed')).toBe(1)
  })
})

describe('a message whose workspace is gone', () => {
  test('is refused before its turn if a program needs it, and runs with its key once it is back', async () => {
    const house = new House()
    mkdirSync(path.join(house.root, 'gone'))
    const workspace = ['--workspace', path.join(house.root, 'gone')]
    const id = await house.spawn('night', '--provider', 'exec', '--option', 'command=cat', ...workspace)
    await house.spawn('model', ...workspace)
    rmSync(path.join(house.root, 'gone'), { recursive: true })
    const why = `the workspace ${path.join(house.root, 'gone')} does not exist or is not a directory`
    const { exit, stderr } = await house.run(GO)
    expect([exit, stderr]).toEqual([2, expect.stringContaining(why)])
    expect(house.records(id).at(-1)).toMatchObject({ kind: 'turn.refused', cause: 'settings', message: why })
    expect((await house.ok('send', 'model', 'hi')).stdout).toBe('echo: hi\n')
    mkdirSync(path.join(house.root, 'gone'))
    expect((await house.ok(...GO)).stdout).toBe('Go\n')
    expect(house.findings()).toEqual([])
  })
})

describe('other turns whose provider has no key', () => {
  test('are recorded once for mail, which stays in the inbox and runs after the mend', async () => {
    const { house, id, mend } = await atNight()
    await house.ok('send', 'night', '--queue', 'Later')
    for (let minute = 0; minute < 3; minute++) expect((await house.run(['deliver', '--all'])).exit).toBe(8)
    expect((await house.run(['wait', 'night'])).exit).toBe(8)
    expect((await house.run(['resume', 'night'])).exit).toBe(8)
    expect(house.count(id, 'turn.refused')).toBe(1)
    mend()
    await house.ok('deliver', '--all')
    expect(house.count(id, 'run.started')).toBe(2)
  })

  test('are recorded for retry, which repeats the failed turn after the mend', async () => {
    const { house, id, mend, spoil } = await atNight()
    mend()
    house.write('down', '')
    expect((await house.run(GO)).exit).toBe(9)
    rmSync(path.join(house.workspace, 'down'))
    spoil()
    for (let time = 0; time < 2; time++) expect((await house.run(['retry', 'night'])).exit).toBe(8)
    expect(house.records(id).filter(({ kind }) => kind === 'turn.refused')).toMatchObject([
      { command: 'substrat retry', key: 'n1' },
    ])
    mend()
    expect((await house.ok('retry', 'night')).stdout).toBe('slept well\n')
  })
})

describe('a closed agent', () => {
  test.each([
    ['hold', ['suspend', 'a', '--hold'], 'ON_HOLD', ['resume', 'a']],
    ['gate', ['gate', 'a'], 'GATED', ['ungate', 'a']],
  ])(
    'with a %s refuses a message on the record, which its repetition runs later',
    async (cause, close, code, open) => {
      const house = new House()
      const id = await house.spawn('a')
      await house.ok(...close)
      for (let minute = 0; minute < 3; minute++)
        expect((await house.run(['send', 'a', '--key', 'k', 'Go'])).exit).toBe(13)
      expect(house.records(id).filter(({ kind }) => kind === 'turn.refused')).toMatchObject([
        { cause, code, key: 'k' },
      ])
      await house.ok(...open)
      expect((await house.ok('show', 'a', '--json')).json.next).toBe("substrat send a --key k '…'")
      const { stdout } = await house.ok('show', 'a')
      expect(stdout).toMatch(/^refused +it was (gated|on hold); it is not now \(substrat send, since .+\)$/m)
      await house.ok('send', 'a', '--key', 'k', 'Go')
      expect((await house.ok('show', 'a', '--json')).json.agent).not.toHaveProperty('refused')
    },
  )

  test('has not refused a message that it queued', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('gate', 'a')
    await house.ok('send', 'a', '--if-busy', 'queue', 'Go')
    expect(house.count(id, 'turn.refused')).toBe(0)
  })

  test('that is terminated has no record of it', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('terminate', 'a')
    expect((await house.run(['send', id, 'Go'])).exit).toBe(13)
    expect(house.count(id, 'turn.refused')).toBe(0)
  })
})

describe('a message to an agent whose turn waits for an approval', () => {
  const MARKS = { tools: [{ name: 'shell', input: { command: 'touch mark' } }] }

  /** A house whose agent waits for an approval in the turn of the key n1. */
  async function waiting(): Promise<{ house: House; id: string }> {
    const house = new House()
    const id = await house.spawn('night', '--option', house.scenario('s.json', MARKS, { say: 'marked' }))
    expect((await house.run(['send', 'night', '--key', 'n1', 'Go'])).exit).toBe(5)
    return { house, id }
  }

  test('is refused on the record once for each key, and not for the key of that turn', async () => {
    const { house, id } = await waiting()
    for (const key of ['n2', 'n2', 'n1', 'n3', 'n2'])
      expect((await house.run(['send', 'night', '--key', key, 'Go'])).exit).toBe(5)
    const refused = house.records(id).filter(({ kind }) => kind === 'turn.refused')
    const message = expect.stringMatching(
      /^an earlier turn \([0-9a-f]{8}, key "n1"\) is waiting: the pending approval \(shell: touch mark\)$/,
    )
    expect(refused).toMatchObject([
      { cause: 'waiting', code: 'WAITING', key: 'n2', message },
      { cause: 'waiting', code: 'WAITING', key: 'n3' },
    ])
    expect(house.count(id, 'run.started')).toBe(1)
    expect(house.findings()).toEqual([])
  })

  test('is in show, list --json and a notification, beside the wait', async () => {
    const { house } = await waiting()
    const { url, received } = await targetServer()
    await house.ok('config', 'set', 'notify', JSON.stringify([{ name: 'me', on: ['failed'], url }]))
    for (const key of ['n2', 'n2', 'n3']) await house.run(['send', 'night', '--key', key, 'Go'])
    const { stdout } = await house.ok('show', 'night')
    expect(stdout).toMatch(/^status +waiting/m)
    expect(stdout).toMatch(
      /^refused +an earlier turn .+ is waiting: .+ \(substrat send, since .+\)\n +keys: n2, n3$/m,
    )
    expect((await house.ok('list', '--json')).json.agents).toMatchObject([
      { shown_status: 'waiting', refused: [{ key: 'n2' }, { key: 'n3' }] },
    ])
    expect(received.map(({ body }) => JSON.parse(body).text)).toEqual([
      expect.stringMatching(/^A turn of night was refused: an earlier turn .+\nsubstrat show night$/),
      expect.stringMatching(/^A turn of night was refused: an earlier turn .+\nsubstrat show night$/),
    ])
  })

  test('runs when its command is repeated after the decision, and until then show names that command', async () => {
    const { house, id } = await waiting()
    for (let time = 0; time < 2; time++) await house.run(['send', 'night', '--key', 'n2', 'Go'])
    await house.ok('approve', 'night')
    const { json } = await house.ok('show', 'night', '--json')
    expect(json).toMatchObject({
      next: "substrat send night --key n2 '…'",
      agent: { shown_status: 'refused' },
    })
    await house.ok('send', 'night', '--key', 'n2', 'Go')
    expect(house.count(id, 'run.started')).toBe(2)
    expect((await house.ok('show', 'night', '--json')).json.agent).not.toHaveProperty('refused')
  })

  test('stays in list and show until it has run, also after other nights', async () => {
    const { house, id } = await waiting()
    for (const key of ['n2', 'n3', 'n4']) await house.run(['send', 'night', '--key', key, 'Go'])
    await house.ok('send', 'night', '--if-waiting', 'queue', 'Something else')
    await house.ok('approve', 'night')
    expect(house.count(id, 'run.started')).toBe(2)
    const { json } = await house.ok('show', 'night', '--json')
    expect(json).toMatchObject({
      next: "substrat send night --key n2 '…'",
      agent: {
        shown_status: 'idle',
        refused: ['n2', 'n3', 'n4'].map((key) => ({ cause: 'waiting', key, past: true })),
      },
    })
    await house.ok('send', 'night', '--key', 'n2', 'Go')
    const { stdout } = await house.ok('show', 'night')
    expect(stdout).toMatch(
      /^never ran +keys: n3, n4\n +refused since .+: an earlier turn .+ was waiting: .+; it is over$/m,
    )
    expect(stdout).toMatch(/^next +substrat send night --key n3 '…'$/m)
    for (const key of ['n4', 'n3']) await house.ok('send', 'night', '--key', key, 'Go')
    expect((await house.ok('show', 'night', '--json')).json.agent).not.toHaveProperty('refused')
    expect(house.findings()).toEqual([])
  })

  test('is forgotten by cancel once no turn is left, and may still be sent', async () => {
    const { house, id } = await waiting()
    for (const key of ['n2', 'n3']) await house.run(['send', 'night', '--key', key, 'Go'])
    expect((await house.ok('cancel', 'night')).stdout).toBe('night: cancelled\n')
    expect((await house.ok('show', 'night', '--json')).json.agent.refused).toHaveLength(2)
    expect((await house.ok('cancel', 'night')).stdout).toBe('night: forgot 2 refusals\n')
    expect((await house.ok('show', 'night', '--json')).json.agent).not.toHaveProperty('refused')
    expect((await house.ok('cancel', 'night')).stdout).toBe('night: nothing to cancel\n')
    expect((await house.ok('log', 'night')).stdout).toContain('refused messages forgotten')
    await house.ok('send', 'night', '--key', 'n2', 'Go')
    expect(house.count(id, 'run.started')).toBe(2)
  })

  test('is counted if there are more keys than show has room for', async () => {
    const { house, id } = await waiting()
    const { received, url } = await targetServer()
    await house.ok('config', 'set', 'notify', JSON.stringify([{ name: 'me', on: ['failed'], url }]))
    for (let night = 2; night < 20; night++) await house.run(['send', 'night', '--key', `n${night}`, 'Go'])
    expect(house.count(id, 'turn.refused')).toBe(18)
    expect(received).toHaveLength(18)
    expect((await house.ok('show', 'night')).stdout).toMatch(
      /^ +keys: n2, n3, .+, n16 and 3 more, the newest n19$/m,
    )
  })

  test('is not refused if it is queued, or replaces that turn', async () => {
    const { house, id } = await waiting()
    await house.ok('send', 'night', '--key', 'n2', '--if-waiting', 'queue', 'Go')
    await house.run(['send', 'night', '--key', 'n3', '--if-waiting', 'supersede', 'Go'])
    expect(house.count(id, 'turn.refused')).toBe(0)
  })
})

describe('a provider that is gone', () => {
  test('is the cause: its plugin is not installed, is broken, or rejects a setting', async () => {
    const house = new House()
    house.plugin('keyed', KEYED)
    house.write('key', '')
    const id = await house.spawn('night', '--provider', 'keyed')
    const causes = (): unknown[] =>
      house.records(id).flatMap((record) => (record.kind === 'turn.refused' ? [record.cause] : []))
    house.plugin('keyed', 'export default { kind: "nothing" }')
    expect((await house.run(GO)).exit).toBe(8)
    house.plugin('other', KEYED)
    expect((await house.run(GO)).exit).toBe(3)
    expect(causes()).toEqual(['broken_plugin', 'not_installed'])
  })
})

test.skipIf(IN_POSTGRES)('env -i HOME=… PATH=… substrat send night --key n1 Go leaves a record', async () => {
  const user = path.join(new House().root, 'user')
  const house = new House({
    HOME: user,
    XDG_DATA_HOME: path.join(user, '.local/share'),
    SUBSTRAT_HOME: path.join(user, '.substrat'),
  })
  linkPlugin(house, { name: 'keyed', providers: { keyed: KEYED } })
  house.write('key', '')
  await house.start(['spawn', '--name', 'night', '--provider', 'keyed']).result
  rmSync(path.join(house.workspace, 'key'))
  const bare = ['env', '-i', `HOME=${user}`, `PATH=${process.env.PATH}`] as [string, ...string[]]
  const sent = await house.launch([...bare, ...house.command(...GO)]).result
  expect(sent, sent.stderr).toMatchObject({ exit: 8, stdout: '' })
  const shown = await house.launch([...bare, ...house.command('show', 'night', '--json')]).result
  expect(shown.json.agent.refused).toMatchObject([{ cause: 'authentication', key: 'n1' }])
})
