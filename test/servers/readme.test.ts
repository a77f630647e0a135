/** The install commands of README.md, as typed in a clone by a user with an empty home directory and umask 077. */
import { chmodSync, cpSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { npm, npmGlobalConfig, pack } from '../support/npm.js'
import { block, readme } from '../support/readme.js'
import { tempDirectory } from '../support/temp.js'

const repository = path.join(import.meta.dirname, '..', '..')
const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as {
  version: string
}

test('the tarball and the clone install as README.md says, and the installed command runs; two clones pack the same bytes', async () => {
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
    execa('bash', ['-e', '-c', `umask 077\n${commands}`], { cwd: clone, env, extendEnv: false })
  const installed = async (): Promise<string> => (await type('realpath "$(command -v substrat)"')).stdout

  await type(block('tarball'))
  expect((await type('substrat --version')).stdout).toContain(`substrat/${version} `)
  expect(await installed()).toContain(`${prefix}/lib/node_modules/substrat/`)

  // The other tarball is of another directory, time and umask.
  const tarballs = [path.join(clone, `substrat-${version}.tgz`), await pack(repository, scratch)]
  const [ofClone, ofRepository] = await Promise.all(tarballs.map(entriesOf))
  expect(ofClone).toEqual(ofRepository)
  const [bytes, sameBytes] = tarballs.map((file) => readFileSync(file))
  expect(bytes?.equals(sameBytes as Buffer)).toBe(true)

  const linking = /`(npm run build && npm install --global \.)`/.exec(readme)?.[1]
  await type(linking as string)
  expect((await type('substrat --version')).stdout).toContain(`substrat/${version} `)
  expect(await installed()).toBe(path.join(clone, 'bin', 'run.js'))
})

/** The mode, the name and the checksum of each file. */
async function entriesOf(tarball: string): Promise<string[]> {
  const command = 'printf "%s %s " "$TAR_MODE" "$TAR_FILENAME"; sha256sum'
  return (await execa('tar', ['-xzf', tarball, `--to-command=${command}`])).stdout.split('\n')
}

/** The files that git tracks, in their current state. */
async function copyClone(clone: string): Promise<void> {
  const { stdout } = await execa('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
  })
  for (const file of stdout.split('\0').filter(Boolean)) {
    const [from, to] = [path.join(repository, file), path.join(clone, file)]
    cpSync(from, to, { recursive: true })
    chmodSync(to, statSync(from).mode & 0o700)
  }
}
