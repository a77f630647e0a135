/** Errors of a home, and of the disk below it. */
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FileTransfer } from '../../src/storage/file-transfer.js'
import type { House } from '../../test/support/cli.js'
import { EXPOSED } from './exposed.js'
import { removeFrom, row, usage, veteran, worker } from './setups.js'
import type { History } from './walk.js'

const ELSEWHERE = { correctedEnv: { SUBSTRAT_HOME: 'other' } }

/** The file `old` is the home as it was, and `home` its path. */
const migrated = async (house: House): Promise<void> => {
  await veteran(house)
  house.write('home', house.home)
  await house.ok('migrate', '--from', house.home, '--to', 'there')
}

/** A migration to `there` was killed. */
const halfMigrated = async (house: House): Promise<void> => {
  await veteran(house)
  house.write('home', house.home)
  const id = '018f0000-0000-7000-8000-000000000001'
  const [from, to] = [house.home, join(house.workspace, 'there')].map((root) => new FileTransfer(root))
  const { homeId = '' } = from?.facts() ?? {}
  to?.arrive(homeId, { id, state: 'arriving', other: from?.label as string })
  from?.closeFor({ id, state: 'leaving', other: to?.label as string })
}

const migration = (
  code: History['code'],
  title: string,
  line: string,
  rest: Partial<History> = {},
): History => row(code, title, line, { prepare: migrated, ...rest })

export const HOMES: History[] = [
  row('HOME_UNUSABLE', 'the home is a file', 'list', {
    prepare: (house) => house.write('home', ''),
    env: { SUBSTRAT_HOME: 'home' },
    ...ELSEWHERE,
  }),
  row('HOME_UNUSABLE', 'the home has other files', 'spawn', {
    prepare: (house) => [mkdirSync(join(house.workspace, 'home')), house.write('home/README', '')],
    env: { SUBSTRAT_HOME: 'home' },
    ...ELSEWHERE,
  }),
  row('HOME_UNUSABLE', 'the home is behind a broken link', 'list', {
    prepare: (house) => symlinkSync('nowhere', join(house.workspace, 'home')),
    env: { SUBSTRAT_HOME: 'home' },
    byHand: (house) => mkdirSync(join(house.workspace, 'nowhere')),
  }),
  row('HOME_UNUSABLE', 'no plugin opens the home', 'list', {
    env: { SUBSTRAT_HOME: 'nonsense://x' },
    ...ELSEWHERE,
  }),
  ...EXPOSED,
  row('CORRUPT', 'home.json is damaged', 'send a hi', {
    prepare: async (house) => {
      await worker(house)
      copyFileSync(join(house.home, 'home.json'), join(house.root, 'backup'))
      house.writeHome('home.json', '{')
    },
    byHand: (house) => copyFileSync(join(house.root, 'backup'), join(house.home, 'home.json')),
  }),
  row('CORRUPT', 'home.json is missing', 'list', {
    prepare: async (house) => [await worker(house), removeFrom(house.home, 'home.json')],
    isMended: true,
  }),
  row('STORAGE_FAILED', 'a file of the home cannot be read', 'send a hi', {
    prepare: async (house) => [await worker(house), mkdirSync(join(house.home, 'config.json'))],
    byHand: (house) => removeFrom(house.home, 'config.json'),
  }),
  row('STORAGE_FAILED', 'a file cannot be written', 'export a -o no/file', {
    prepare: veteran,
    corrected: ['export', 'a', '-o', 'file'],
  }),

  migration('HOME_UNUSABLE', 'the home was migrated', 'list', { correctedEnv: { SUBSTRAT_HOME: 'there' } }),
  migration('HOME_UNUSABLE', 'the migration of the home has not ended', 'list', {
    prepare: halfMigrated,
    correctedEnv: { SUBSTRAT_HOME: 'there' },
  }),
  migration(
    'SESSION_STATE',
    'a migration that has ended is to be undone',
    'migrate --from $home --to there --cancel',
    {
      fill: { NEW_HOME: 'third' },
    },
  ),
  usage(
    'a migration that has not begun is to be undone',
    ['migrate --from $home --to there --cancel', 'migrate --from $home --to there'],
    { prepare: async (house) => [await worker(house), house.write('home', house.home)] },
  ),
  migration('HOME_UNUSABLE', 'the home migrates to another place', 'migrate --from $home --to third', {
    prepare: halfMigrated,
    corrected: ['migrate', '--from', '$home', '--to', 'there'],
  }),
  migration('HOME_UNUSABLE', 'the source is the target of a migration', 'migrate --from there --to third', {
    prepare: halfMigrated,
    corrected: ['migrate', '--from', '$home', '--to', 'there'],
  }),
  migration('HOME_UNUSABLE', 'the target is another home', 'migrate --from there --to other', {
    prepare: async (house) => {
      await migrated(house)
      await house.run(['spawn'], { env: { SUBSTRAT_HOME: 'other' } })
    },
    corrected: ['migrate', '--from', 'there', '--to', 'third'],
  }),
  migration('HOME_UNUSABLE', 'the target has other files', 'migrate --from there --to full', {
    prepare: async (house) => {
      await migrated(house)
      mkdirSync(join(house.workspace, 'full'))
      writeFileSync(join(house.workspace, 'full/README'), '')
    },
    corrected: ['migrate', '--from', 'there', '--to', 'third'],
  }),
  row('HOME_UNUSABLE', 'there is no home to migrate', 'migrate --from nowhere --to third', {
    prepare: async (house) => [await worker(house), house.write('home', house.home)],
    corrected: ['migrate', '--from', '$home', '--to', 'third'],
  }),
  row('CORRUPT', 'the home to migrate is damaged', 'migrate --from $home --to third', {
    prepare: async (house) => {
      house.write('home', house.home)
      house.damage(await veteran(house), (log) => log.replace('"session', '"sessioN'))
    },
    isMended: true,
  }),
]
