/** Homes that other users can write to, or have written to. */
import { chmodSync, chownSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

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
    expect(json.error.hint).toContain(`chmod -R go-w ${home(house)}`)
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
      expect([exit, stderr]).toEqual([0, expect.stringContaining('using the defaults')])
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
