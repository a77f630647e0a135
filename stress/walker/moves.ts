/** Errors of bundles and moves. */
import { join } from 'node:path'
import { repack, unpacked } from '../../test/support/bundles.js'
import { House } from '../../test/support/cli.js'
import { NativeHouse } from '../../test/support/native.js'
import { family, inProgram, removeFrom, row, usage, veteran, WORKS } from './setups.js'
import { firstId, type History } from './walk.js'

/** The home from which a bundle comes. The file `from` has its path. */
const from = async (house: House, flags: string[] = [], setup = veteran): Promise<House> => {
  const other = new House()
  await setup(other)
  house.write('from', other.home)
  await other.ok('export', 'a', '--bundle', join(house.workspace, 'file'), ...flags)
  return other
}

const moved = async (house: House): Promise<void> => {
  await veteran(house)
  await house.ok('export', 'a', '--bundle', 'file', '--move')
}

/** Both are moved, and the file `kid` has the id of `a/kid`. */
const familyMoved = async (house: House): Promise<void> => {
  await family(house)
  await house.ok('export', 'a', '--bundle', 'file', '--move', '--tree')
}

const arrived = async (house: House): Promise<void> => {
  await from(house, ['--move'])
  await house.ok('import', 'file', '--trust')
}

/** A copy of this home, whose path is in the file `from`, has moved `a`. */
const copied = async (house: House): Promise<void> => {
  await veteran(house)
  const other = house.copy()
  house.write('from', other.home)
  await other.ok('export', 'a', '--bundle', join(house.workspace, 'file'), '--move')
}

export const MOVES: History[] = [
  usage('a bundle is of another home', ['import file'], { prepare: (house) => from(house) }),
  usage(
    'the workspace of a bundle is missing',
    ['import file --trust', 'import file --trust --workspace .'],
    {
      prepare: async (house) => {
        const other = await from(house)
        removeFrom(other.workspace, '.')
      },
    },
  ),
  row('UNKNOWN_FORMAT', 'a bundle is of a newer version', 'import file --trust', {
    prepare: async (house) => {
      await from(house)
      const file = join(house.workspace, 'file')
      const bundle = unpacked(file)
      repack(file, { ...bundle, manifest: { ...bundle.manifest, bundle: 99 } as never })
    },
    decider: 'the version of substrat that exported it',
  }),
  row('NAME_TAKEN', 'a copy has a name that is taken', 'import file', {
    prepare: async (house) => [await veteran(house), await house.ok('export', 'a', '--bundle', 'file')],
    corrected: ['import', 'file', '--name', 'copy'],
  }),
  row('SESSION_STATE', 'a terminated agent is to be copied', 'export ID --bundle file', {
    prepare: async (house) => [await veteran(house), await house.ok('terminate', 'a')],
  }),
  row('SESSION_STATE', 'a moved agent is to be copied', 'export ID --bundle other', { prepare: moved }),
  row('SESSION_STATE', 'a terminated agent is to be moved', 'export ID --bundle file --move', {
    prepare: async (house) => [await veteran(house), await house.ok('terminate', 'a')],
  }),
  row('SESSION_STATE', 'a moved agent gets a message', 'send ID hi', { prepare: moved }),
  row('SESSION_STATE', 'a child that moved is to be moved', 'export $kid --bundle other --move', {
    prepare: familyMoved,
    corrected: ['import', '--reclaim', 'ID'],
  }),
  row('HAS_CHILDREN', 'a child would stay', 'export a --bundle file --move', {
    prepare: family,
    corrected: ['export', 'a', '--bundle', 'file', '--move', '--tree'],
  }),
  row('SESSION_STATE', 'a move is imported where it began', 'import file', { prepare: moved }),
  row('SESSION_STATE', 'a move is imported twice', 'import file --trust', { prepare: arrived }),
  row('SESSION_STATE', 'an imported agent was removed', 'import file --trust', {
    prepare: async (house) => [
      await arrived(house),
      await house.ok('terminate', 'a'),
      await house.ok('remove', firstId(house)),
    ],
    env: { THERE: '$from' },
  }),
  row('SESSION_STATE', 'a move is imported beside its agent', 'import file --trust', {
    prepare: async (house) => [await moved(house), await house.ok('import', '--reclaim', firstId(house))],
    corrected: ['import', 'copy'],
  }),
  row('SESSION_STATE', 'an older move is imported', 'import first --trust', {
    prepare: async (house) => {
      await veteran(house)
      await house.ok('export', 'a', '--bundle', 'first', '--move')
      await house.ok('import', '--reclaim', firstId(house))
      await house.ok('export', 'a', '--bundle', 'file', '--move')
    },
    corrected: ['import', '--reclaim', 'ID'],
  }),
  row('SESSION_STATE', 'an agent that lives here is to be taken back', 'import --reclaim a'),
  row('SESSION_STATE', 'an agent that has not arrived is to be taken back', 'import --reclaim ID', {
    prepare: async (house) => [
      await from(house, ['--move']),
      await house.ok('import', 'file', '--trust', '--hold'),
    ],
    corrected: ['import', 'file', '--trust'],
  }),
  row('SESSION_STATE', 'a child that moved is to be taken back', 'import --reclaim $kid', {
    prepare: familyMoved,
  }),
  row('SESSION_STATE', 'an older move is to be taken back', 'import --reclaim first', {
    prepare: async (house) => {
      await veteran(house)
      await house.ok('export', 'a', '--bundle', 'first', '--move')
      await house.ok('import', '--reclaim', 'first')
      await house.ok('export', 'a', '--bundle', 'file', '--move')
    },
  }),
  row('NAME_TAKEN', 'the name of an agent that returns is taken', 'import --reclaim $old', {
    prepare: async (house) => [
      await moved(house),
      house.write('old', firstId(house)),
      await house.spawn('a', ...WORKS),
    ],
    isMended: true,
  }),
  row('SESSION_STATE', 'the parent of an agent that returns is terminated', 'import --reclaim $kid', {
    prepare: async (house) => {
      await family(house)
      await house.ok('export', 'a/kid', '--bundle', 'file', '--move')
      await house.ok('terminate', 'a')
    },
  }),
  row('SESSION_STATE', 'a copy of this home has moved its agent here', 'import file --trust', {
    prepare: copied,
    byHand: async (house) => {
      const env = { SUBSTRAT_HOME: house.read('from') as string }
      await house.run(['import', '--reclaim', 'a'], { env })
      await house.run(['export', 'a', '--bundle', 'copy'], { env })
    },
    corrected: ['import', 'copy', '--name', 'b', '--trust'],
  }),
  row('SESSION_STATE', 'a copy of this home has moved an agent that moved', 'import file --trust', {
    prepare: async (house) => [
      await copied(house),
      await house.ok('export', 'a', '--bundle', 'own', '--move'),
    ],
    corrected: ['import', '--reclaim', 'ID'],
  }),
  row('SESSION_STATE', 'an agent that waits in its program is to be moved', 'export a --bundle file --move', {
    newHouse: () => new NativeHouse(),
    prepare: inProgram,
    isMended: true,
  }),
]
