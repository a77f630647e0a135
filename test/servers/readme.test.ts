/** The install commands of README.md, as typed in a clone by a user with an empty home directory. */
import { cpSync, mkdirSync, readFileSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { npm, npmGlobalConfig } from '../support/npm.js'
import { block, readme } from '../support/readme.js'
import { tempDirectory } from '../support/temp.js'

const repository = path.join(import.meta.dirname, '..', '..')
const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as {
  version: string
}

test('the tarball and the clone install as README.md says, and the installed command runs', async () => {
  const scratch = realpathSync(tempDirectory())
  const [home, clone] = [path.join(scratch, 'home'), path.join(scratch, 'clone')]
  mkdirSync(home)
  await copyClone(clone)
  const prefix = path.join(home, '.local')
  const env = {
    HOME: home,
    PATH: `${prefix}/bin:${process.env.PATH}`,
    TMPDIR: process.env.TMPDIR ?? '/tmp',
    // Without root npm installs into this prefix. The other settings save downloads.
    npm_config_prefix: prefix,
    npm_config_globalconfig: await npmGlobalConfig(),
    npm_config_cache: (await npm('/', 'config', 'get', 'cache')).trim(),
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
  }
  const type = (commands: string): Promise<{ stdout: string }> =>
    execa('bash', ['-e', '-c', commands], { cwd: clone, env, extendEnv: false })
  const installed = async (): Promise<string> => (await type('realpath "$(command -v substrat)"')).stdout

  await type(block('tarball'))
  expect((await type('substrat --version')).stdout).toContain(`substrat/${version} `)
  expect(await installed()).toContain(`${prefix}/lib/node_modules/substrat/`)

  const ofClone = /`(npm run build && npm install --global \.)`/.exec(readme)?.[1]
  await type(ofClone as string)
  expect((await type('substrat --version')).stdout).toContain(`substrat/${version} `)
  expect(await installed()).toBe(path.join(clone, 'bin', 'run.js'))
})

/** The files that git tracks, in their current state. */
async function copyClone(clone: string): Promise<void> {
  const { stdout } = await execa('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
  })
  for (const file of stdout.split('\0').filter(Boolean)) {
    cpSync(path.join(repository, file), path.join(clone, file), { recursive: true })
  }
}
