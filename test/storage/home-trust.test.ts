/** Homes that other users can write to, or have written to. */
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { chownTree } from '../support/owners.js'

const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn('skipped: homes with files of other users, because only root can give files away')
const OTHER = 12345
const OPEN = [0o777, 0o770, 0o722]

/** The home is in a directory of its own, so that the directory can be opened to others. */
function houseBelow(): { house: House; above: string } {
  const house = new House()
  const above = join(house.root, 'above')
  mkdirSync(above)
  house.env.SUBSTRAT_HOME = join(above, 'home')
  return { house, above }
}

function home(house: House): string {
  return house.env.SUBSTRAT_HOME as string
}

function modeOf(path: string): number {
  return lstatSync(path).mode & 0o7777
}

function plant(house: House, owner?: number): string {
  const config = join(home(house), 'config.json')
  writeFileSync(config, JSON.stringify({ mcp_servers: { evil: { command: 'evil' } } }))
  if (owner !== undefined) chownSync(config, owner, owner)
  return config
}

describe('an empty directory that all can write to', () => {
  test.for([0o777, 0o755, 0o1777])('of mode %o becomes a home of mode 0700', async (mode) => {
    const { house } = houseBelow()
    mkdirSync(home(house))
    chmodSync(home(house), mode)
    await house.spawn('a')
    expect(modeOf(home(house))).toBe(0o700)
  })

  test.skipIf(!isRoot)('and belongs to another user is refused (needs root)', async () => {
    const { house } = houseBelow()
    mkdirSync(home(house))
    chmodSync(home(house), 0o777)
    chownSync(home(house), OTHER, OTHER)
    const { exit, stderr } = await house.run(['spawn'])
    expect([exit, stderr]).toEqual([11, expect.stringContaining(`belongs to user ${OTHER}`)])
    expect(modeOf(home(house))).toBe(0o777)
  })

  test.skipIf(!isRoot)('and has settings of another user is refused (needs root)', async () => {
    const { house } = houseBelow()
    mkdirSync(home(house))
    chmodSync(home(house), 0o777)
    const config = plant(house, OTHER)
    const { exit, json } = await house.run(['spawn', '--json'])
    expect([exit, json.error.code]).toEqual([11, 'HOME_EXPOSED'])
    expect(json.error.message).toContain(`${config} belongs to user ${OTHER}`)
    expect(json.error.hint).toContain(`chown -hR 0 ${config}`)
    expect(json.error.path).toBe(config)
  })
})

describe('a home', () => {
  test.for(OPEN)('of mode %o is refused with the command to type, and its mode stays', async (mode) => {
    const { house } = houseBelow()
    await house.spawn('a')
    chmodSync(home(house), mode)
    const { exit, json } = await house.run(['send', 'a', 'hi', '--json'])
    expect([exit, json.error.code, modeOf(home(house))]).toEqual([11, 'HOME_EXPOSED', mode])
    expect((await house.ok('list', '--json')).json.agents).toHaveLength(1)
    chmodSync(home(house), 0o700)
    await house.ok('send', 'a', 'hi')
  })

  test('below a directory that others can write to is refused, unless that is sticky', async () => {
    const { house, above } = houseBelow()
    chmodSync(above, 0o777)
    const { exit, stderr } = await house.run(['spawn', '--name', 'a'])
    expect([exit, stderr]).toEqual([11, expect.stringContaining(`other users can write to ${above}`)])
    chmodSync(above, 0o1777)
    await house.spawn('a')
    chmodSync(above, 0o777)
    expect((await house.run(['send', 'a', 'hi'])).exit).toBe(11)
  })

  test.skipIf(!isRoot)('that another user made in a directory of ours is refused (needs root)', async () => {
    const { house } = houseBelow()
    await house.spawn('a')
    chownSync(join(home(house), 'home.json'), OTHER, OTHER)
    expect((await house.run(['send', 'a', 'hi'])).exit).toBe(11)
  })
})

describe('an agent', () => {
  const WRITES = ['--provider', 'exec', '--option', 'command=cat >> RAN']
  const inAgent = (house: House, id: string, name: string): string =>
    join(home(house), 'agents', id, ...(name === '' ? [] : [name]))

  test.skipIf(!isRoot)(
    'that another user put into an open home runs no program once the home is closed (needs root)',
    async () => {
      const { house } = houseBelow()
      await house.spawn('mine', ...WRITES)
      const id = await house.spawn('planted', ...WRITES)
      await house.ok('send', 'planted', 'evil', '--queue', '--no-drain')
      chownTree(inAgent(house, id, ''), OTHER)
      chmodSync(home(house), 0o777)
      const { hint } = (await house.run(['deliver', '--all', '--json'])).json.error
      expect(hint).toContain(`chmod -R go-w ${home(house)} && chown -hR 0 ${inAgent(house, id, '')}`)
      chmodSync(home(house), 0o700)
      const { exit, stderr } = await house.run(['deliver', '--all'])
      expect([exit, stderr]).toEqual([11, expect.stringContaining(`rm -r ${inAgent(house, id, '')}`)])
      expect(house.read('RAN')).toBeUndefined()
      await house.ok('send', 'mine', 'good')
      expect(house.read('RAN')).toContain('good')
      expect(house.read('RAN')).not.toContain('evil')
    },
  )

  const NAMES = ['', 'events.jsonl', 'session.json', 'inbox', 'requests']
  const EXPOSURES: [string, string, (path: string) => void][] = NAMES.flatMap((name) => [
    ...(isRoot
      ? [['is of another user', name, (path: string) => chownSync(path, OTHER, OTHER)] as const]
      : []),
    ['can be written by others', name, (path: string) => chmodSync(path, 0o777)] as const,
  ]).map(([what, name, expose]) => [what, name, expose])

  test.for(EXPOSURES)('whose file %s "%s" is only read', async ([, name, expose]) => {
    const { house } = houseBelow()
    const id = await house.spawn('a', ...WRITES)
    const path = inAgent(house, id, name)
    expose(path)
    for (const args of [
      ['send', 'a', 'hi'],
      ['spawn', '--parent', 'a'],
      ['send', 'a', 'hi', '--queue'],
    ]) {
      const { exit, json } = await house.run([...args, '--json'])
      expect([exit, json.error.code, json.error.path], args.join(' ')).toEqual([11, 'HOME_EXPOSED', path])
    }
    expect(house.read('RAN')).toBeUndefined()
    await house.ok('show', 'a')
    expect((await house.ok('list', '--json')).json.agents).toHaveLength(1)
  })

  test.skipIf(!isRoot)('gets no message that another user wrote to its inbox (needs root)', async () => {
    const { house } = houseBelow()
    const id = await house.spawn('a', ...WRITES)
    const inbox = inAgent(house, id, 'inbox')
    await house.ok('send', 'a', 'evil', '--queue', '--no-drain')
    const [message = ''] = readdirSync(inbox)
    chownSync(join(inbox, message), OTHER, OTHER)
    await house.run(['deliver', '--all'])
    expect([house.read('RAN'), readdirSync(inbox)]).toEqual([undefined, [message]])
    const { findings } = (await house.run(['doctor', '--json'])).json
    expect(findings).toContainEqual(
      expect.objectContaining({
        file: join(inbox, message),
        remedy: expect.stringContaining(`chown -hR 0 ${join(inbox, message)}`),
      }),
    )
    chownSync(join(inbox, message), 0, 0)
    await house.ok('deliver', '--all')
    expect(house.read('RAN')).toContain('evil')
  })
})

describe('the advice', () => {
  test('for a directory above the home names that directory', async () => {
    const { house, above } = houseBelow()
    chmodSync(above, 0o777)
    const { hint, path } = (await house.run(['spawn', '--json'])).json.error
    expect([path, hint]).toEqual([
      above,
      expect.stringContaining(`if no other user needs ${above}: chmod go-w ${above}`),
    ])
  })
})

describe('config.json', () => {
  const COMMANDS = [
    ['send', 'a', 'hi'],
    ['config', 'get', 'mcp_servers'],
    ['notify', 'test'],
    ['channel', 'run', 'x'],
  ]

  test.for(COMMANDS)('that others can write to keeps %s from running', async (args) => {
    const { house } = houseBelow()
    await house.spawn('a')
    chmodSync(plant(house), 0o666)
    const { exit, stderr } = await house.run(args)
    expect([exit, stderr]).toEqual([
      11,
      expect.stringMatching(
        /^substrat: the settings \S+config\.json are not used: other users can write to /,
      ),
    ])
  })

  test.skipIf(!isRoot)(
    'of another user is not used by recovery, which uses the defaults (needs root)',
    async () => {
      const { house } = houseBelow()
      await house.spawn('a')
      plant(house, OTHER)
      const { exit, stderr } = await house.run(['recover', '--all'])
      expect([exit, stderr]).toEqual([11, expect.stringContaining('using the defaults')])
    },
  )
})

test('doctor says to close a home that all can write to by chmod, because doctor --rebuild is refused there', async () => {
  const { house } = houseBelow()
  await house.spawn('a')
  chmodSync(home(house), 0o777)
  const { findings } = (await house.run(['doctor', '--json'])).json
  expect(findings).toMatchObject([{ remedy: `chmod -R go-w ${home(house)}` }])
  expect((await house.run(['doctor', '--rebuild'])).stderr).toContain(`chmod -R go-w ${home(house)}`)
  chmodSync(home(house), 0o755)
  const [left] = (await house.run(['doctor', '--json'])).json.findings
  expect(left.remedy).toBe('substrat doctor --rebuild')
  await house.ok('doctor', '--rebuild')
  expect(modeOf(home(house))).toBe(0o700)
})
