/** provider-codex starts the program of the npm package without its launcher. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import {
  codex,
  newLab,
  place,
  RECORDED,
  replyIn,
  seen,
  seenFile,
  settingsFor,
  turn,
} from './codex-support.js'

const { PATH } = process.env
afterEach(() => {
  process.env.PATH = PATH
})

function script(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `#!/bin/sh\n${text}\n`)
  chmodSync(file, 0o755)
}

/**
 * Installs codex as npm does, with the stand-in as launcher and as program. Its environment tells which of them was
 * started.
 */
function install(): { bin: string; modules: string; native: string } {
  const modules = join(place.home, 'lib/node_modules')
  const native = join(
    modules,
    `@openai/codex-${process.platform}-${process.arch}`,
    'vendor/some-target/bin/codex',
  )
  const stand = `exec ${process.execPath} ${join(RECORDED, 'stand-in.mjs')} --seen ${seenFile()} "$@"`
  script(native, `STARTED=native ${stand}`)
  writeFileSync(join(dirname(native), '../../../package.json'), '{}')
  script(join(modules, '@openai/codex/bin/codex.js'), `STARTED=launcher ${stand}`)
  const bin = join(place.home, 'bin')
  mkdirSync(bin)
  symlinkSync('../lib/node_modules/@openai/codex/bin/codex.js', join(bin, 'codex'))
  return { bin, modules, native }
}

async function startedWith(options: Record<string, string>): Promise<Record<string, string>> {
  const settings = { ...settingsFor(), options }
  replyIn(await turn(await codex.create(settings, newLab().host)))
  return seen().env
}

test('the program is started directly if the command is a path', async () => {
  const { bin, modules } = install()
  const env = await startedWith({ command: join(bin, 'codex') })
  expect(env).toMatchObject({
    STARTED: 'native',
    // The variables that the launcher sets.
    CODEX_MANAGED_BY_NPM: '1',
    CODEX_MANAGED_PACKAGE_ROOT: join(modules, '@openai/codex'),
  })
})

test('the program is started directly if codex is found in PATH', async () => {
  const { bin } = install()
  process.env.PATH = `${join(place.home, 'nowhere')}:${bin}:${PATH}`
  expect((await startedWith({})).STARTED).toBe('native')
})

test.each<[string, (installed: ReturnType<typeof install>) => void]>([
  ['does not exist', ({ native }) => rmSync(native)],
  ['cannot be executed', ({ native }) => chmodSync(native, 0o644)],
  [
    'belongs to a package that does not exist',
    ({ modules }) =>
      rmSync(join(modules, `@openai/codex-${process.platform}-${process.arch}`), { recursive: true }),
  ],
  ['is one of several', ({ native }) => mkdirSync(join(dirname(native), '../../the-other-target'))],
])('the launcher is started if the program %s', async (_, spoil) => {
  const installed = install()
  spoil(installed)
  const env = await startedWith({ command: join(installed.bin, 'codex') })
  expect(env.STARTED).toBe('launcher')
  expect(env.CODEX_MANAGED_BY_NPM).toBeUndefined()
})
