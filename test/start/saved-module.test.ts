import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path, { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { cacheDir, codeFileFor, readCode } from '../../src/start/saved-code.js'
import { WrappedSource } from '../../src/start/wrapped-source.js'
import { tempDirectory } from '../support/temp.js'

describe('a module of a plugin', () => {
  let file: string
  let cache: string
  let atExit: (exitCode: number) => void
  let requireSaved: (file: string) => unknown
  beforeEach(async () => {
    vi.resetModules()
    ;({ requireSaved } = await import('../../src/start/saved-module.js'))
    file = join(tempDirectory(), 'module.cjs')
    cache = tempDirectory()
    vi.stubEnv('SUBSTRAT_CACHE_DIR', cache)
    vi.spyOn(process, 'once').mockImplementation((event, listener) => {
      if (event === 'exit') atExit = listener as never
      return process
    })
    atExit = () => undefined
    // The worker process of the tests is older than a command that saves code.
    vi.spyOn(performance, 'now').mockReturnValue(100)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })
  const written = (source: string): string => {
    writeFileSync(file, source)
    return source
  }
  const sizeOf = (command = ''): number | undefined =>
    readCode(codeFileFor(file, command, cacheDir()), WrappedSource.read(file, 'utf8'), () => undefined)
      ?.length

  test('is loaded once, with what Node gives a module', () => {
    written('exports.path = __filename; exports.sep = require("node:path").sep; this.id = module.filename')
    const first = requireSaved(file)
    expect(first).toEqual({ path: file, sep: '/', id: file })
    expect(requireSaved(file)).toBe(first)
    expect(createRequire(file)(file)).toBe(first)
  })

  test.each(['', '/', '/.'])(
    'writes no code through a symlink to another directory, named with %j at its end',
    (end) => {
      written('exports.list = () => "list"')
      const [target, link] = [tempDirectory(), join(tempDirectory(), 'link')]
      symlinkSync(target, link)
      vi.stubEnv('SUBSTRAT_CACHE_DIR', `${link}${end}`)
      vi.spyOn(process, 'umask').mockReturnValue(0o077)
      requireSaved(file)
      atExit(0)
      expect(readdirSync(target)).toEqual([])
    },
  )

  test('has its code saved where the umask cannot be set', () => {
    written('exports.list = () => "list"')
    vi.spyOn(process, 'umask').mockImplementation(() => {
      throw new Error('not in a thread')
    })
    requireSaved(file)
    atExit(0)
    expect(readdirSync(cache)).toHaveLength(1)
  })

  test('has code for each command, with its own functions only, from its second success on', () => {
    const source = written('exports.list = () => "list"; exports.send = () => "send, which is longer"')
    const runs = (command: string, exitCode = 0) => {
      vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', 'substrat', command])
      vi.spyOn(process, 'umask').mockReturnValue(0o077)
      delete createRequire(file).cache[file]
      atExit = () => undefined
      const { [path.basename(command)]: act } = requireSaved(file) as Record<string, () => string>
      act?.()
      atExit(exitCode)
      return [sizeOf('list'), sizeOf('send'), sizeOf()]
    }
    const none = [undefined, undefined, undefined]
    expect(runs('list', 1)).toEqual(none)
    const [list] = runs('list')
    expect(list).toBeGreaterThan(0)
    expect(runs('send', 1)).toEqual([list, undefined, list])
    expect(runs('send')).toEqual([list, 0, list])
    // It takes the mark away, and leaves no code. The next one begins anew.
    expect(runs('send', 1)).toEqual([list, undefined, list])
    expect(runs('send', 1)).toEqual([list, undefined, list])
    expect(runs('send')).toEqual([list, 0, list])
    const own = runs('send')
    expect(own).toEqual([list, expect.any(Number), list])
    expect(own[1]).toBeGreaterThan(0)
    expect(runs('../../send')).toEqual(own)
    written(`${source}; exports.show = () => "show"`)
    const changed = runs('send')
    expect(changed).toEqual([undefined, expect.any(Number), expect.any(Number)])
    expect(runs('list')).toEqual([0, changed[1], changed[2]])
    expect(readdirSync(cache).every((name) => name.startsWith(process.version))).toBe(true)
  })

  test('has the functions that the first run of another module needs', () => {
    vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', 'substrat', 'send'])
    vi.spyOn(process, 'umask').mockReturnValue(0o077)
    written('exports.first = () => "first"; exports.second = () => "second, which is longer"')
    const provider = join(tempDirectory(), 'provider.cjs')
    writeFileSync(provider, 'exports.turn = 1')
    const runs = (word: 'first' | 'second', isWithProvider: boolean) => {
      for (const each of [file, provider]) delete createRequire(file).cache[each]
      const { [word]: act } = requireSaved(file) as Record<string, () => string>
      if (isWithProvider) requireSaved(provider)
      act?.()
      atExit(0)
      return sizeOf('send') ?? 0
    }
    const first = runs('first', false)
    expect(runs('second', false)).toBe(first)
    const second = runs('second', true)
    expect(second).toBeGreaterThan(first)
    expect(runs('first', true)).toBe(second)
  })

  test('leaves no code that is two months old', () => {
    const old = join(cache, 'v20.0.0-x64-0.code')
    writeFileSync(old, '')
    utimesSync(old, 0, 0)
    written('exports.first = 1')
    requireSaved(file)
    vi.spyOn(process, 'umask').mockReturnValue(0o077)
    atExit(0)
    expect(existsSync(old)).toBe(false)
    expect(readdirSync(cache).length).toBeGreaterThan(0)
  })

  test('is found by its real path, also beside the packages that it needs', () => {
    const root = tempDirectory()
    const real = join(root, 'real/node_modules/plugin')
    for (const [name, source] of [
      ['plugin', 'exports.needed = require("needed"); exports.self = require(__filename) === exports'],
      ['needed', 'module.exports = "needed"'],
    ] as const) {
      mkdirSync(join(root, 'real/node_modules', name), { recursive: true })
      writeFileSync(join(root, 'real/node_modules', name, 'index.cjs'), source)
    }
    writeFileSync(join(root, 'real/node_modules/needed/package.json'), '{"main":"index.cjs"}')
    symlinkSync(real, join(root, 'plugin'))
    expect(requireSaved(join(root, 'plugin/index.cjs'))).toEqual({ needed: 'needed', self: true })
  })

  test('is loaded again after a load that failed', () => {
    written(
      'exports.first = 1; if (!globalThis.loadedOnce) { globalThis.loadedOnce = true; throw new Error("not yet") }',
    )
    expect(() => requireSaved(file)).toThrow('not yet')
    expect(requireSaved(file)).toEqual({ first: 1 })
    Reflect.deleteProperty(globalThis, 'loadedOnce')
  })

  test('may begin with a #! line', () => {
    written('#!/usr/bin/env node\nexports.first = 1')
    expect(requireSaved(file)).toEqual({ first: 1 })
  })

  test.each(['import("node:path")', 'import ("node:path")', 'import/* now */("node:path")'])(
    'is not started from saved code if it imports others while it runs: %s',
    async (call) => {
      written(`exports.load = () => ${call}`)
      const { load } = requireSaved(file) as { load: () => Promise<{ sep: string }> }
      atExit(0)
      expect(readdirSync(cache)).toEqual([])
      expect((await load()).sep).toBe('/')
    },
  )
})
