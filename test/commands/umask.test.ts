/** A umask that removes the owner's rights from new files, such as 277 or 777. */
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { whyNoOtherUser } from '../support/another-user.js'
import { House, type Result } from '../support/cli.js'

const why = whyNoOtherUser()

function under(umask: string, house: House, ...args: string[]): Promise<Result> {
  return house.launch(['bash', '-c', `umask ${umask}; exec "$@"`, 'bash', ...house.command(...args)]).result
}

/** `mode path` of every file that its owner cannot use. */
function closedIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    const { mode } = lstatSync(path.join(directory, name))
    const isRight = (mode & 0o170777) === 0o040700 || (mode & 0o170777) === 0o100600
    return isRight ? [] : [`${mode.toString(8)} ${name}`]
  })
}

describe.concurrent.for(['277', '777'])('umask %s', (umask) => {
  test('leaves the home and the cache readable for the owner, and programs inherit it', async () => {
    const house = new House()
    house.env.SUBSTRAT_CACHE_DIR = path.join(house.root, 'code')
    const exec = ['--provider', 'exec', '--option', 'command=umask']
    expect((await under(umask, house, 'spawn', '--name', 'a', ...exec, 'hi')).stdout).toBe(`0${umask}\n`)
    expect((await under(umask, house, 'send', 'a', 'again')).exit).toBe(0)
    expect((await under(umask, house, 'send', 'a', '--queue', '--no-drain', 'later')).exit).toBe(0)
    expect(lstatSync(house.home).mode & 0o777).toBe(0o700)
    expect(closedIn(house.home)).toEqual([])
    expect(closedIn(house.env.SUBSTRAT_CACHE_DIR)).toEqual([])
    expect((await house.run(['deliver', '--all'])).exit).toBe(0)
  })
})

describe.skipIf(why !== undefined)(
  `a home without rights for its owner (${why ?? 'as another user'})`,
  () => {
    test('is reported with the command that corrects it', async () => {
      const uid = 12345
      const house = new House()
      mkdirSync(house.home)
      chmodSync(house.root, 0o755)
      chownSync(house.home, uid, uid)
      for (const [mode, command] of [
        ['0400', 'list'],
        ['0500', 'spawn'],
      ] as const) {
        chmodSync(house.home, Number.parseInt(mode, 8))
        const { exit, stderr } = await house.start([command], { uid, cwd: '/' }).result
        expect({ exit, stderr }).toEqual({
          exit: 11,
          stderr: `substrat: the home ${house.home} is closed to its owner: its mode is ${mode} (chmod -R u+rwX ${house.home})\n`,
        })
      }
      // A home that is only closed to writing can still be read.
      expect((await house.start(['list'], { uid, cwd: '/' }).result).exit).toBe(0)
    })
  },
)

describe.skipIf(why !== undefined)(
  `a user without HOME and without an entry in the password database (${why ?? 'as another user'})`,
  () => {
    const uid = 54_321
    /** `spawn` leaves out a variable that is undefined. */
    const without = (...names: string[]) =>
      Object.fromEntries(names.map((name) => [name, undefined])) as unknown as Record<string, string>

    test('can use a home that SUBSTRAT_HOME names', async () => {
      const house = new House()
      chownSync(house.root, uid, uid)
      const environment = { uid, cwd: '/', env: without('HOME', 'XDG_CACHE_HOME') }
      for (const args of [
        ['spawn', '--name', 'a', '--provider', 'scripted', '--workspace', '/'],
        ['send', 'a', 'hi'],
        ['list'],
      ]) {
        const { exit, stderr } = await house.start(args, environment).result
        expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
      }
    })

    test.each([['--help'], ['send', '--help'], ['help', 'list'], ['providers'], ['--version']])(
      'gets the answer of %j %j also without SHELL',
      async (...args) => {
        const house = new House()
        const env = without('HOME', 'SUBSTRAT_HOME', 'SHELL')
        const { exit, stderr } = await house.start(args, { uid, cwd: '/', env }).result
        expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
      },
    )

    test.each([undefined, '', 'relative'])(
      'gets the advice to set SUBSTRAT_HOME, without a stack trace (HOME=%s)',
      async (HOME) => {
        const house = new House()
        const env = { ...without('HOME', 'SUBSTRAT_HOME'), ...(HOME !== undefined && { HOME }) }
        const environment = { uid, cwd: '/', env }
        const { exit, stderr } = await house.start(['list'], environment).result
        expect({ exit, stderr }).toEqual({
          exit: 11,
          stderr:
            'substrat: the user with the id 54321 has no home directory (set SUBSTRAT_HOME to a directory of that user, or HOME)\n',
        })
      },
    )
  },
)
