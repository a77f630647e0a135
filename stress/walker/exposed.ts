/** Homes that another user could have written: a history for each cause. */
import { chmodSync, chownSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { House } from '../../test/support/cli.js'
import { chownTree } from '../../test/support/owners.js'
import { row, worker } from './setups.js'
import type { History } from './walk.js'

/** Only root can give files away. */
const isRoot = process.getuid?.() === 0
const OTHER = 12345
const BELOW = { env: { SUBSTRAT_HOME: 'above/home' }, isMended: true } as const

const directoryOf = (house: House, id: string): string => join(house.home, 'agents', id)

/** The directory above a home that does not exist yet. */
function above(house: House, mode: number, group?: number): void {
  const path = join(house.workspace, 'above')
  mkdirSync(path)
  if (group !== undefined) chownSync(path, 0, group)
  chmodSync(path, mode)
}

/** Another user has put `a` there, with a pending message. */
async function planted(house: House): Promise<void> {
  const id = await worker(house)
  await house.ok('send', 'a', 'planted', '--queue', '--no-drain')
  chownTree(directoryOf(house, id), OTHER)
}

const exposed = (title: string, line: string, rest: Partial<History>): History =>
  row('HOME_EXPOSED', title, line, { isMended: true, ...rest })

const OF_OTHER_USERS: History[] = [
  exposed('the settings belong to another user', 'send a hi', {
    prepare: async (house) => {
      await worker(house)
      house.writeHome('config.json', '{}')
      chownSync(join(house.home, 'config.json'), OTHER, OTHER)
    },
  }),
  exposed('home.json belongs to another user', 'send a hi', {
    prepare: async (house) => [await worker(house), chownSync(join(house.home, 'home.json'), OTHER, OTHER)],
  }),
  exposed('the directory above the home belongs to another user', 'spawn --name b', {
    prepare: (house) => [above(house, 0o755), chownSync(join(house.workspace, 'above'), OTHER, OTHER)],
    ...BELOW,
  }),
  exposed('a group may write to the directory above the home', 'spawn --name b', {
    prepare: (house) => above(house, 0o2775, OTHER),
    ...BELOW,
  }),
  exposed('an agent belongs to another user', 'deliver --all', { prepare: planted }),
  exposed('others may write to the home, which has an agent of another user', 'deliver --all', {
    prepare: async (house) => [await planted(house), chmodSync(house.home, 0o777)],
  }),
  exposed('the log of an agent belongs to another user', 'send a hi', {
    prepare: async (house) =>
      chownSync(join(directoryOf(house, await worker(house)), 'events.jsonl'), OTHER, OTHER),
  }),
]

export const EXPOSED: History[] = [
  exposed('others may write to the home', 'send a hi', {
    prepare: async (house) => [await worker(house), chmodSync(house.home, 0o777)],
  }),
  exposed('others may write to the directory above a home that does not exist', 'spawn --name b', {
    prepare: (house) => above(house, 0o777),
    ...BELOW,
  }),
  exposed('others may write to the inbox of an agent', 'send a hi', {
    prepare: async (house) => chmodSync(join(directoryOf(house, await worker(house)), 'inbox'), 0o777),
  }),
  exposed('a directory of the home is a link', 'send a hi', {
    prepare: async (house) => {
      await worker(house)
      renameSync(join(house.home, 'unclean'), join(house.root, 'moved'))
      symlinkSync('../moved', join(house.home, 'unclean'))
    },
    byHand: (house) => rmSync(join(house.home, 'unclean')),
  }),
  ...(isRoot ? OF_OTHER_USERS : []),
]
