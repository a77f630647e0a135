import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

/** A refused text stays in the directory for temporary files, so each house has its own. */
function newHouse(): House {
  const house = House.ofProcesses()
  house.env.TMPDIR = path.join(house.root, 'tmp')
  mkdirSync(house.env.TMPDIR)
  return house
}

/** An editor that writes this text, and tells the path of its file. */
function editor(house: House, text: string): Record<string, string> {
  house.write('edited', text)
  return {
    VISUAL: '',
    EDITOR: `sh -c 'cp ${house.workspace}/edited "$1"; echo "$1" > ${house.workspace}/copy' sh`,
  }
}

const configOf = (house: House): string => readFileSync(`${house.home}/config.json`, 'utf8')
const copyOf = (house: House): string => (house.read('copy') as string).trim()

describe.concurrent('config edit', () => {
  test('replaces config.json by a valid text as it was written, and removes its copy', async () => {
    const house = newHouse()
    await house.ok('config', 'set', 'slots_max', '3')
    const text = '{\n\n  "slots_max": 5, "scripted.model": "m" }'
    const { json } = await house.run(['config', 'edit', '--json'], { env: editor(house, text) })
    expect(json).toStrictEqual({ path: `${house.home}/config.json`, changed: true })
    expect(configOf(house)).toBe(text)
    expect(statSync(`${house.home}/config.json`).mode & 0o077).toBe(0)
    expect(existsSync(copyOf(house))).toBe(false)
    const again = await house.run(['config', 'edit'], { env: editor(house, text) })
    expect(again).toMatchObject({ exit: 0, stdout: `${house.home}/config.json is unchanged\n` })
  })

  test.for([
    ['{\n  "timeout": "10m"\n  "model": "x"\n}', 'it is not JSON: line 3: expected "," or "}"'],
    ['{\n  "timeout": "soon" }', 'is invalid: line 2: timeout must be a duration'],
    ['{\n\n  "nonsense": 1 }', 'line 3: "nonsense" is not a setting'],
    ['{\n  "nowhere.model": "x" }', 'line 2: there is no provider "nowhere"'],
    ['{\n  "scripted.scenari": "x" }', 'line 2: the provider scripted has no option "scenari"'],
    ['{\n"provider": "nowhere"}', 'line 2: there is no provider "nowhere"'],
    ['{\n"allow": "nosuchtool"}', 'line 2: the setting allow: there is no tool nosuchtool'],
    ['[]', 'it is not a JSON object'],
  ] as const)('refuses %j with its line, and keeps the text', async ([text, why]) => {
    const house = newHouse()
    await house.ok('config', 'set', 'slots_max', '3')
    const before = configOf(house)
    const { exit, stderr } = await house.run(['config', 'edit'], { env: editor(house, text) })
    expect(exit).toBe(2)
    expect(stderr).toContain(why)
    expect(configOf(house)).toBe(before)
    expect(readFileSync(copyOf(house), 'utf8')).toBe(text)
    expect(stderr).toContain(`your text is in ${copyOf(house)}`)
    // The hint puts the corrected copy in place.
    const EDITOR = `cp ${house.write('fixed', '{"slots_max": 4}')}`
    const corrected = await house.run(['config', 'edit'], { env: { VISUAL: '', EDITOR } })
    expect(corrected.exit, corrected.stderr).toBe(0)
    expect(configOf(house)).toBe('{"slots_max": 4}')
  })

  test('repairs a file that is not JSON', async () => {
    const house = newHouse()
    await house.spawn('a')
    house.writeHome('config.json', '{"timeout": ')
    const refused = await house.run(['config', 'set', 'timeout', '5m'])
    expect(refused.stderr).toContain(
      'line 1: expected a value, not the end of the text (correct it: substrat config edit',
    )
    expect((await house.run(['config', 'edit'], { env: editor(house, '{"timeout": "5m"}') })).exit).toBe(0)
    expect((await house.ok('config', 'get', 'timeout')).stdout).toBe('5m\n')
  })

  test('changes nothing if the editor fails, is missing, or another command was first', async () => {
    const house = newHouse()
    await house.ok('config', 'set', 'slots_max', '3')
    const before = configOf(house)
    const run = (EDITOR: string) => house.run(['config', 'edit'], { env: { VISUAL: '', EDITOR } })
    expect(await run('false')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('the editor failed (false: 1)'),
    })
    expect(await run('')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('neither VISUAL nor EDITOR'),
    })
    const [node, cli] = house.command()
    const other = await run(`${node} ${cli} config set slots_max 9 >/dev/null; echo '{"slots_max": 7}' >`)
    expect(other).toMatchObject({ exit: 2, stderr: expect.stringContaining('another command changed') })
    expect(JSON.parse(configOf(house))).toEqual({ slots_max: '9' })
    expect(before).not.toBe(configOf(house))
  })
})

test('commands that change settings at the same time lose none', async () => {
  const house = newHouse()
  const keys = ['slots_max', 'warm_max', 'depth_max', 'children_max', 'timeout', 'turn_timeout']
  const values = ['7', '7', '7', '7', '7s', '7s']
  await Promise.all(keys.map((key, at) => house.ok('config', 'set', key, values[at] as string)))
  expect(Object.keys(JSON.parse(configOf(house))).sort()).toEqual([...keys].sort())
})
