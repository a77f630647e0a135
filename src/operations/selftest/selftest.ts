/**
 * `selftest`: tests this machine and the file system of a home, in a temporary home beside it. Every check runs what the commands
 * run; a step that this program cannot see from outside, such as a flush of the disk, has the result unknown.
 */
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { SubstratError } from '../../errors.js'
import { isDirectory, isThere } from '../../files/user-files.js'
import { cannotTell, check, doesNotHold, holds, LOCAL_HOME } from '../../host/selftest/check.js'
import { diskChecks } from '../../host/selftest/disk-checks.js'
import { fileSystemChecks } from '../../host/selftest/file-system-checks.js'
import { makePlace, type Place, removePlace } from '../../host/selftest/place.js'
import type { SelftestCheck, SelftestReport } from '../../schema/output-home.js'
import { openHome, openOrCreateHome, schemeOf } from '../../storage/open.js'
import type { Store } from '../../storage/store.js'
import { Cli } from './cli.js'
import { clockChecks, type Reading, readClocks } from './clock-checks.js'
import { KILLS, killChecks } from './kill-checks.js'
import { LOCKS, lockChecks } from './lock-checks.js'
import { PROGRAMS, programChecks } from './program-checks.js'
import { killWorld, lockWorld, programWorld, type Scene } from './worlds.js'

export interface SelftestOptions {
  /** bin/run.js of this program. */
  script: string
  kills: number
  onProgress(done: number, total: number): void
}

/** The sends that are not killed come before those that are. */
const TURNS_BESIDE_KILLS = 10

/** The steps of progress besides the kills: the disk, the locks and the programs. */
const STEPS = 3

export async function selftest(address: string, options: SelftestOptions): Promise<SelftestReport> {
  const isUrl = schemeOf(address) !== undefined
  const home = isUrl ? address : resolve(address)
  if (!isUrl && isThere(home) && !isDirectory(home))
    throw new SubstratError('USAGE', `${home} is not a directory`, {
      hint: 'name a directory, which need not exist: substrat selftest --home DIR',
      facts: { path: home },
    })
  const place = makePlace(isUrl ? join(tmpdir(), 'substrat') : home)
  const cli = new Cli(options.script, place.home, place.workspace)
  const clear = (): void => {
    cli.killAll()
    removePlace(place.root)
  }
  // A signal ends the command by an exit.
  process.once('exit', clear)
  try {
    const ofPlace = isUrl ? await serverChecks(home) : await machineChecks(place)
    const ofHome = await homeChecks({ ...place, cli, isUrl }, options)
    return { home, checks: [...ofPlace, ...ofHome] }
  } finally {
    process.off('exit', clear)
    clear()
  }
}

async function machineChecks({ root, files }: Place): Promise<SelftestCheck[]> {
  const found = await fileSystemChecks(root)
  return [...found, ...(await diskChecks(files, found[0]?.verdict === 'does_not_hold'))]
}

interface Parts extends Place {
  cli: Cli
  isUrl: boolean
}

async function homeChecks(parts: Parts, { kills, onProgress }: SelftestOptions): Promise<SelftestCheck[]> {
  let clocks: Reading[] = readClocks()
  const done = (steps: number): void => {
    clocks = clocks.concat(readClocks())
    onProgress(steps, kills + STEPS)
  }
  done(1)
  let store: Store | undefined
  const checks = [
    await check('only this user can change a home', () => {
      store = openOrCreateHome(parts.home)
      return holds('a home was made')
    }),
  ]
  const run = async (what: string[], make: (scene: Scene) => Promise<SelftestCheck[]>): Promise<void> => {
    try {
      checks.push(...(store === undefined ? await untold(what) : await make({ ...parts, store })))
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      // No agent can be made there.
      store = undefined
      const [first = '', ...others] = what
      const failed = await check(first, () => {
        throw error
      })
      checks.push(failed, ...(await untold(others)))
    }
  }
  if (!parts.isUrl) await run(LOCKS, async (scene) => lockChecks(await lockWorld(scene)))
  done(2)
  await run(PROGRAMS, async (scene) => programChecks(await programWorld(scene)))
  done(STEPS)
  const onKilled = (count: number): void => done(STEPS + count)
  const killAll = async (scene: Scene): Promise<SelftestCheck[]> =>
    killChecks(await killWorld(scene, kills + TURNS_BESIDE_KILLS), kills, onKilled)
  if (!parts.isUrl) await run(KILLS, killAll)
  return [...checks, await clockChecks(clocks)]
}

function untold(what: string[]): Promise<SelftestCheck[]> {
  return Promise.all(what.map((each) => check(each, () => cannotTell('no agent can be made there'))))
}

const ON_SERVER =
  'in psql: SHOW fsync; SHOW full_page_writes; SHOW synchronous_commit; all must be on (docs/postgres.md)'

async function serverChecks(address: string): Promise<SelftestCheck[]> {
  return [
    await check('the server of the home answers', () =>
      openHome(address) === undefined
        ? doesNotHold(`${address} has no home`, 'substrat doctor')
        : holds('it has the home'),
    ),
    await check('the server keeps what it acknowledges', () =>
      cannotTell('only this machine is tested: its programs and its clocks, not the server', ON_SERVER),
    ),
  ]
}

/** The error that sets the exit status. Undefined if no check failed. */
export function failureOfMachine({ home, checks }: SelftestReport): SubstratError | undefined {
  const failed = checks.filter(({ verdict }) => verdict === 'does_not_hold')
  const [first] = failed
  if (first === undefined) return undefined
  const more = failed.length === 1 ? '' : `, and ${failed.length - 1} more`
  return new SubstratError('HOME_UNUSABLE', `this does not hold for ${home}: ${first.what}${more}`, {
    hint: first.next ?? LOCAL_HOME,
  })
}
