/** `doctor` and `unlock`: their text and their JSON. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { linkPlugin, modelProvider } from '../support/plugin.js'

/** An agent with a turn, and another below it. */
async function family(house: House): Promise<{ lead: string; child: string }> {
  const lead = await house.spawn('lead')
  await house.ok('send', 'lead', 'hello')
  return { lead, child: await house.spawn('child', '--parent', 'lead') }
}

function flip(house: House, id: string, at = 100): void {
  const bytes = house.logBytes(id)
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(house.agentFile(id, 'events.jsonl'), bytes)
}

/** Every file of the home with its bytes. */
function contents(house: House): Record<string, string> {
  const files = readdirSync(house.home, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const file = path.join(parentPath, name)
      return [file, readFileSync(file, 'latin1')]
    }),
  )
}

describe.concurrent('doctor', () => {
  test('finds nothing without a home, and creates none', async () => {
    const house = new House()
    expect((await house.ok('doctor')).stdout).toBe(
      `${house.home}: 0 agents; nothing is wrong (read every log)\n`,
    )
    expect(house.exists()).toBe(false)
  })

  test('finds nothing in a healthy home during turns, writes nothing, and names the holders', async () => {
    const house = new House()
    await family(house)
    const gate = new Gate(house, 'g')
    const busy = await house.spawn('busy', ...gate.flags)
    const sender = house.start(['send', 'busy', 'work'])
    await gate.isReached()
    const before = contents(house)
    const { json, stderr } = await house.ok('doctor', '--all', '--json')
    expect(json).toMatchObject({ agents: 3, whole: 3, repairs: [], findings: [] })
    expect(json.held).toMatchObject([{ agent: busy, path: 'busy', holder: { pid: sender.pid } }])
    expect(stderr).toBe('')
    expect(contents(house)).toEqual(before)
    gate.open()
    await sender.result
  })

  test('finds nothing in a home that many commands write to at once', async () => {
    const house = new House()
    await family(house)
    const writers = Array.from({ length: 2 }, async (_, writer) => {
      for (let turn = 0; turn < 2; turn++) {
        await house.ok('send', writer % 2 === 0 ? 'lead' : 'lead/child', 'more', '--timeout', '1h')
        await house.ok('spawn', '--name', `new-${writer}-${turn}`, '--parent', 'lead', 'hi')
      }
    })
    let isOver = false
    const over = Promise.all(writers).then(() => {
      isOver = true
    })
    while (!isOver) expect((await house.ok('doctor', '--all', '--json')).json.findings).toEqual([])
    await over
  })

  test('names the damage and the next command, exits 10, and checks the rest', async () => {
    const house = new House()
    const { lead } = await family(house)
    await house.ok('send', 'lead', 'again', '--key', 'today')
    flip(house, lead, house.log(lead).indexOf('again'))
    const { exit, stdout, stderr } = await house.run(['doctor', '--all'])
    expect(exit).toBe(10)
    expect(stdout).toMatch(/^damaged: \S+: .*is damaged at byte \d+, record \d+/)
    expect(stdout).toContain('  next: restore ')
    expect(stderr).toMatch(
      /^substrat: found in \S+: 1 damaged \(restore .* substrat doctor --all --rebuild\)\n$/,
    )
    const { json } = await house.ok('doctor', '--all', '--rebuild', '--json')
    expect(json.repairs).toMatchObject([{ agent: lead, path: 'lead', ok: true }])
    expect(new Set(json.findings.map(({ verdict }: { verdict: string }) => verdict))).toEqual(
      new Set(['harmless']),
    )
    // The rebuilt agent is on hold, and no key is delivered twice.
    expect((await house.run(['send', 'lead', 'more'])).exit).toBe(13)
    await house.ok('resume', 'lead')
    expect((await house.run(['send', 'lead', 'again', '--key', 'today'])).exit).toBe(10)
    expect((await house.ok('send', 'lead', 'more')).stdout).toBe('echo: more\n')
    expect((await house.ok('log', 'lead')).stdout).toContain('log rebuilt after damage')
    expect(house.findings(true)).toEqual([])
  })

  test('leftovers of a kill repair themselves: exit 0, and recover is the remedy', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'work'])
    await gate.isReached()
    await sender.kill()
    const { json } = await house.ok('doctor', '--json')
    expect(json.findings).toMatchObject([
      { verdict: 'repairs_itself', path: 'a', remedy: 'substrat recover a' },
    ])
    gate.open()
  })

  test('a home that others may read is exit 11, and closed by --rebuild', async () => {
    const house = new House()
    const { lead } = await family(house)
    chmodSync(house.agentFile(lead, 'events.jsonl'), 0o644)
    chmodSync(house.home, 0o755)
    const { exit, stdout } = await house.run(['doctor'])
    expect(exit).toBe(11)
    expect(stdout.match(/^needs you: /gm)).toHaveLength(2)
    await house.ok('doctor', '--rebuild')
    expect((await house.ok('doctor', '--json')).json.findings).toEqual([])
  })

  test('a damaged home.json, a bad setting and an agents folder that is a file are findings, not crashes', async () => {
    const [torn, bad, odd] = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const house = new House()
        await house.spawn('a')
        return house
      }),
    )
    torn?.writeHome('home.json', '{"form')
    bad?.writeHome('config.json', '{"slots_max":"none"}')
    mkdirSync(path.join(odd?.home ?? '', 'agents', 'events.jsonl'))
    writeFileSync(path.join(odd?.home ?? '', 'agents', 'line\nbreak'), '')
    const [first, second, third] = await Promise.all(
      [torn, bad, odd].map((house) => (house as House).run(['doctor', '--rebuild'])),
    )
    expect(first).toMatchObject({ exit: 10, stdout: expect.stringContaining('home.json is damaged') })
    expect(second).toMatchObject({ exit: 2, stdout: expect.stringContaining('slots_max') })
    expect(third).toMatchObject({ exit: 0, stdout: expect.stringContaining('agents/line break') })
  })

  test('an invalid setting has the command that corrects it', async () => {
    const house = new House()
    await house.spawn('a')
    house.writeHome('config.json', '{"slots_max":"none"}')
    const inFile = (await house.run(['doctor', '--json'])).json.findings
    expect(inFile).toMatchObject([{ remedy: 'substrat config set slots_max 4' }])
    await house.ok('config', 'set', 'slots_max', '4')
    const env = { SUBSTRAT_SLOTS_MAX: 'none' }
    const inEnvironment = (await house.run(['doctor', '--json'], { env })).json.findings
    expect(inEnvironment).toMatchObject([{ remedy: 'unset SUBSTRAT_SLOTS_MAX' }])
    expect(house.findings(true)).toEqual([])
  })

  test('a missing home.json is one finding, and its command recreates the file', async () => {
    const house = new House()
    await house.spawn('a')
    rmSync(path.join(house.home, 'home.json'))
    const { exit, json } = await house.run(['doctor', '--json'])
    expect(exit).toBe(10)
    expect(json.findings).toMatchObject([
      { verdict: 'damaged', remedy: expect.stringContaining('or recreate it: substrat recover --all') },
    ])
    await house.ok('recover', '--all')
    expect((await house.ok('doctor', '--json')).json.findings).toEqual([])
  })

  test('a repair that failed is not proposed again', async () => {
    const house = new House()
    const id = await house.spawn('a')
    house.damage(id, (log) => log.replace('session.created', 'session.creaked'))
    rmSync(house.agentFile(id, 'session.json'))
    const { exit, json } = await house.run(['doctor', '--rebuild', '--json'])
    expect(exit).toBe(10)
    expect(json.repairs).toMatchObject([{ agent: id, ok: false }])
    for (const { agent, remedy } of json.findings) if (agent === id) expect(remedy).not.toContain('--rebuild')
    expect(json.findings).toContainEqual(
      expect.objectContaining({ remedy: expect.stringContaining('or move it out of the home') }),
    )
  })

  test('a directory of other files is not examined as a home', async () => {
    const house = new House()
    mkdirSync(house.home)
    house.writeHome('package.json', '{}')
    for (const flags of [[], ['--rebuild']]) {
      const { exit, json } = await house.run(['doctor', '--json', ...flags])
      expect([exit, json.error]).toEqual([
        11,
        expect.objectContaining({
          code: 'HOME_UNUSABLE',
          message: expect.stringContaining('has other files, such as package.json'),
        }),
      ])
    }
  })

  test("a truncated list of plugins, and an agent's provider that is missing because of it, are findings", async () => {
    const house = new House()
    linkPlugin(house, {
      name: 'echoes',
      providers: { echoes: modelProvider(`yield { type: 'stop', stop: 'end' }`) },
    })
    await house.spawn('a', '--provider', 'echoes')
    expect((await house.ok('doctor', '--json')).json.findings).toEqual([])
    const list = path.join(house.env.XDG_DATA_HOME as string, 'substrat', 'package.json')
    writeFileSync(list, readFileSync(list, 'utf8').slice(0, 40))
    const { exit, json } = await house.run(['doctor', '--json'])
    expect(exit).toBe(8)
    expect(json.findings.map(({ code }: { code: string }) => code)).toEqual([
      'PROVIDER_MISCONFIGURED',
      'PROVIDER_NOT_FOUND',
    ])
    writeFileSync(
      list,
      JSON.stringify({ oclif: { plugins: [{ name: 'gone', type: 'link', root: '/nowhere' }] } }),
    )
    expect((await house.run(['doctor'])).stdout).toContain('gone cannot be loaded')
  })

  test("--rebuild and unlock are refused inside an agent's tool", async () => {
    const house = new House()
    const { lead } = await family(house)
    const env = { SUBSTRAT_AGENT: lead, SUBSTRAT_LOG: house.agentFile(lead, 'events.jsonl') }
    flip(house, lead)
    for (const args of [
      ['doctor', '--all', '--rebuild'],
      ['unlock', '--all'],
    ])
      expect((await house.run(args, { env })).exit).toBe(13)
    expect((await house.run(['doctor', '--all'], { env })).exit).toBe(10)
  })
})

describe.concurrent('unlock', () => {
  test('removes an unused lock directory', async () => {
    const house = new House()
    const { lead } = await family(house)
    mkdirSync(house.agentFile(lead, 'lock.d'), { mode: 0o700 })
    const { json } = await house.ok('doctor', '--json')
    expect(json.findings).toMatchObject([{ verdict: 'harmless', remedy: 'substrat unlock lead' }])
    expect((await house.ok('unlock', 'lead')).stdout).toBe(`${house.agentFile(lead, 'lock.d')}\n`)
    expect((await house.ok('unlock', 'lead', '--json')).json).toEqual({ unlocked: [] })
  })

  test('does not break a kernel lock, which ends with its process', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'work'])
    await gate.isReached()
    const { exit, stderr } = await house.run(['unlock', 'a', '--force'])
    expect(exit).toBe(4)
    expect(stderr).toContain(`pid ${sender.pid}`)
    gate.open()
    await sender.result
  })

  test('needs either an agent or --all', async () => {
    const house = new House()
    await house.spawn('a')
    for (const words of [[], ['a', '--all']]) expect((await house.run(['unlock', ...words])).exit).toBe(2)
  })
})
