/** Code that runs before the home is open: compiled code, and the plugins in the list. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { modelProvider } from '../support/plugin.js'

const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn('skipped: owners of cache and plugins, because only root can give files away')
const OTHER = 12345

function made(directory: string): string {
  mkdirSync(directory, { recursive: true })
  return directory
}

const BUNDLE = path.resolve(import.meta.dirname, '../../dist/substrat.cjs')

/** A house with a cache of its own, which has the compiled code of `list`. */
async function warmed(): Promise<{ house: House; cache: string; code: string }> {
  const house = House.ofProcesses()
  const cache = path.join(house.root, 'code')
  house.env.SUBSTRAT_CACHE_DIR = cache
  await house.ok('list')
  const made = crc32(JSON.stringify([BUNDLE, 'list', [], undefined])).toString(16)
  const name = `${process.version}-${process.arch}-${made}.code`
  expect(readdirSync(cache)).toContain(name)
  // The other file is for commands without code of their own.
  for (const other of readdirSync(cache)) if (other !== name) rmSync(path.join(cache, other))
  return { house, cache, code: path.join(cache, name) }
}

/** Code of another program, which V8 takes for that of ours: it compares the length of the source and no more. */
function poison(code: string): void {
  const source = readFileSync(BUNDLE)
  const length =
    `(function (exports, require, module, __filename, __dirname) {${source.toString('latin1')}\n})`.length
  const evil = `(function (exports) { if (exports.isBeingMade) return; console.log('owned'); process.exit() })`
  // In a process of its own, because the flags of a process are part of its compiled code.
  const compile = `
    const script = new vm.Script(${JSON.stringify(evil)}.padEnd(${length}))
    script.runInThisContext()({ isBeingMade: true })
    process.stdout.write(script.createCachedData())`
  const bytes = execFileSync(process.execPath, ['-e', compile])
  const header = JSON.stringify({ source: crc32(source), code: crc32(bytes) })
  writeFileSync(code, Buffer.concat([Buffer.from(`${header}\n`), bytes]))
}

describe.concurrent('compiled code of the cache', () => {
  test('that this user alone could have written is run', async () => {
    const { house, code } = await warmed()
    poison(code)
    expect((await house.ok('list')).stdout).toBe('owned\n')
  })

  test('is not made again while it is there', async () => {
    const { house, code } = await warmed()
    const { ino } = lstatSync(code)
    await house.ok('list')
    expect(lstatSync(code).ino).toBe(ino)
  })

  test.skipIf(!isRoot).for<[string, (code: string) => void]>([
    ['belongs to another user (needs root)', (code) => chownSync(code, OTHER, OTHER)],
    ['is in a directory of another user (needs root)', (code) => chownSync(path.dirname(code), OTHER, OTHER)],
    [
      'is below a directory of another user (needs root)',
      (code) => chownSync(path.dirname(path.dirname(code)), OTHER, OTHER),
    ],
  ])('that %s is not: one line says so, and the command runs without it', async ([, give]) => {
    const { house, code } = await warmed()
    poison(code)
    give(code)
    const { stdout, stderr } = await house.ok('list')
    expect(stdout).not.toContain('owned')
    expect(stderr).toMatch(
      /^substrat: warning: the compiled code [^\n]+ is not used: [^\n]+ belongs to user 12345, [^\n]+\n$/,
    )
  })

  test.for<[string, (code: string) => void]>([
    ['others can write to', (code) => chmodSync(code, 0o622)],
    ['is in a directory that its group can write to', (code) => chmodSync(path.dirname(code), 0o770)],
    ['is a symbolic link', linkInPlace],
  ])('that %s is not run', async ([, open]) => {
    const { house, code } = await warmed()
    poison(code)
    open(code)
    const { stdout, stderr } = await house.ok('list')
    expect(stdout).not.toContain('owned')
    expect(stderr).toContain(' is not used: ')
  })

  test('is replaced where only the file was open to others: the line comes once', async () => {
    const { house, code } = await warmed()
    chmodSync(code, 0o666)
    expect((await house.ok('list')).stderr).toContain('is not used')
    expect((await house.ok('list')).stderr).toBe('')
    expect(lstatSync(code).mode & 0o777).toBe(0o600)
  })

  test.skipIf(!isRoot)('is not written where another user could lead it elsewhere (needs root)', async () => {
    const { house, cache, code } = await warmed()
    const victim = path.join(house.root, 'victim')
    writeFileSync(victim, 'precious')
    renameSync(code, `${code}.old`)
    symlinkSync(victim, `${code}.tmp`)
    chownSync(cache, OTHER, OTHER)
    await house.ok('list')
    expect({ victim: readFileSync(victim, 'utf8'), isWritten: existsSync(code) }).toEqual({
      victim: 'precious',
      isWritten: false,
    })
  })
})

describe.concurrent('a list of plugins', () => {
  function withPlugin(): { house: House; list: string } {
    const house = House.ofProcesses()
    house.plugin(
      'test',
      modelProvider(`yield { type: 'text', text: 'owned' }; yield { type: 'stop', reason: 'end' }`),
    )
    const list = path.join(house.env.XDG_DATA_HOME as string, 'substrat', 'package.json')
    expect(existsSync(list)).toBe(true)
    return { house, list }
  }

  test.for([['list'], ['help'], ['--version'], ['spawn', '--provider', 'test', 'hi']])(
    'that others can write to keeps %s from running, on one line',
    async (args) => {
      const { house, list } = withPlugin()
      chmodSync(list, 0o666)
      const { exit, stdout, stderr } = await house.run(args)
      expect({ exit, stdout }).toEqual({ exit: 11, stdout: '' })
      expect(stderr).toMatch(
        /^substrat: the plugins of [^\n]+ are not loaded: other users can write to [^\n]+\n$/,
      )
    },
  )

  test('is not loaded where others can write to the code of its plugins: one sentence names all of it', async () => {
    const { house } = withPlugin()
    const root = path.join(house.root, 'test')
    const open = [path.join(root, 'package.json'), path.join(root, 'index.js'), root]
    for (const at of open) chmodSync(at, lstatSync(at).mode | 0o002)
    const { exit, stderr } = await house.run(['list'])
    expect({ exit, lines: stderr.split('\n').length }).toEqual({ exit: 11, lines: 2 })
    for (const at of open) expect(stderr).toMatch(new RegExp(`[ ,]${at}[ ,]`))
    chmodSync(root, 0o755)
    for (const at of open.slice(0, 2)) chmodSync(at, 0o644)
    expect((await house.ok('spawn', '--provider', 'test', 'hi')).stdout).toContain('owned')
  })

  test.skipIf(!isRoot).for<[string, (root: string) => string]>([
    ['the directory of a linked plugin', (root) => root],
    ['the module of its provider', (root) => path.join(root, 'index.js')],
    ['the packages that it imports', (root) => made(path.join(root, 'node_modules'))],
    [
      'a package of its name in a directory above, which Node would take first',
      (root) => made(path.join(path.dirname(root), 'node_modules', 'test')),
    ],
  ])('is not loaded where %s belong(s) to another user (needs root)', async ([, given]) => {
    const { house } = withPlugin()
    const at = given(path.join(house.root, 'test'))
    chownSync(at, OTHER, OTHER)
    const { exit, stdout, stderr } = await house.run(['spawn', '--provider', 'test', 'hi'])
    expect({ exit, stdout }).toEqual({ exit: 11, stdout: '' })
    expect(stderr).toContain(`${at} belongs to user ${OTHER}`)
  })

  test.skipIf(!isRoot)('of another user is not loaded (needs root)', async () => {
    const { house, list } = withPlugin()
    chownSync(path.dirname(list), OTHER, OTHER)
    const { exit, json } = await house.run(['list', '--json'])
    expect({ exit, code: json.error.code }).toEqual({ exit: 11, code: 'HOME_EXPOSED' })
  })

  test('that does not exist changes nothing, with any owner of the directory', async () => {
    const house = House.ofProcesses()
    const data = path.join(house.root, 'data', 'substrat')
    mkdirSync(data, { recursive: true })
    chmodSync(data, 0o777)
    await house.ok('list')
  })
})

function linkInPlace(file: string): void {
  renameSync(file, `${file}.real`)
  symlinkSync(`${file}.real`, file)
}
