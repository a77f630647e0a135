import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { codeFileFor, readCode } from '../../src/start/saved-code.js'
import { requireSaved } from '../../src/start/saved-module.js'
import { tempDirectory } from '../support/temp.js'

describe('a module of a plugin', () => {
  let file: string
  let cache: string
  let atExit: (exitCode: number) => void
  beforeEach(() => {
    file = join(tempDirectory(), 'module.cjs')
    cache = tempDirectory()
    vi.stubEnv('SUBSTRAT_CACHE_DIR', cache)
    vi.spyOn(process, 'once').mockImplementation((event, listener) => {
      if (event === 'exit') atExit = listener as never
      return process
    })
    atExit = () => undefined
  })
  const written = (source: string): string => {
    writeFileSync(file, source)
    return source
  }
  const ends = (command: string, exitCode = 0): void => {
    vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', 'substrat', command])
    vi.spyOn(process, 'umask').mockReturnValue(0o077)
    atExit(exitCode)
  }
  const savedCommands = (source: string): string[] | undefined =>
    readCode(codeFileFor(file), Buffer.from(source), () => undefined)?.commands

  test('is loaded once, with what Node gives a module', () => {
    written('module.exports = { path: __filename, sep: require("node:path").sep, id: module.filename }')
    const first = requireSaved(file)
    expect(first).toEqual({ path: file, sep: '/', id: file })
    expect(requireSaved(file)).toBe(first)
    expect(createRequire(file)(file)).toBe(first)
  })

  test('has the functions of each command that succeeded in its saved code', () => {
    const source = written('exports.hello = () => "hello"')
    requireSaved(file)
    ends('list', 1)
    expect(savedCommands(source)).toBeUndefined()
    ends('list')
    expect(savedCommands(source)).toEqual(['list'])
    delete createRequire(file).cache[file]
    requireSaved(file)
    ends('send')
    expect(savedCommands(source)).toEqual(['list', 'send'])
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
      ends('send')
      expect(readdirSync(cache)).toEqual([])
      expect((await load()).sep).toBe('/')
    },
  )
})
