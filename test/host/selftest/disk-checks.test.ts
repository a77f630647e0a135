/** Each check of a file system holds here, and fails in a world where that one thing is broken. */
import { openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SubstratError } from '../../../src/errors.js'
import { DISK, type Disk, diskChecks } from '../../../src/host/selftest/disk-checks.js'
import { failing, withFaults } from '../../support/faults.js'
import { tempDirectory } from '../../support/temp.js'

async function verdicts(disk: Partial<Disk> = {}, isInMemory = false): Promise<Record<string, string>> {
  const checks = await diskChecks(tempDirectory(), isInMemory, { ...DISK, ...disk })
  return Object.fromEntries(checks.map(({ what, verdict }) => [what, verdict]))
}

const HERE = {
  'a sync reaches the disk': 'unknown',
  'a directory can be synced': 'holds',
  'a rename is atomic': 'holds',
  'a new name has one creator': 'holds',
  'an open file knows whether it has its name': 'holds',
  'names of 128 characters are possible': 'holds',
  'only the owner can access a new file': 'holds',
  'the times of files agree with the clock': 'holds',
}

/** The file is missing for most of the time, so that a reader notices. */
const notAtomic: Disk['replace'] = (point, path, bytes, options) => {
  if (!path.endsWith('/renamed')) return DISK.replace(point, path, bytes, options)
  unlinkSync(path)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
  writeFileSync(path, bytes)
}

const exists = (path: string): boolean => {
  try {
    return readFileSync(path) !== undefined
  } catch {
    return false
  }
}

const open = (path: string): { fd: number; path: string } => ({ fd: openSync(path, 'a+'), path })

const BROKEN: [world: string, what: keyof typeof HERE, disk: Partial<Disk>][] = [
  [
    'a sync fails',
    'a sync reaches the disk',
    {
      fsync: () => {
        throw new SubstratError('SYNC_FAILED', 'cannot sync: EIO')
      },
    },
  ],
  [
    'a directory cannot be synced',
    'a directory can be synced',
    {
      syncDirectory: (_point, path) => {
        throw new SubstratError('SYNC_FAILED', `cannot sync ${path} (EINVAL)`, { facts: { errno: 'EINVAL' } })
      },
    },
  ],
  [
    'a rename is a removal and a copy',
    'a rename is atomic',
    { replace: (...of) => (exists(of[1]) ? notAtomic(...of) : DISK.replace(...of)) },
  ],
  ['O_EXCL is ignored', 'a new name has one creator', { createExclusive: (_point, path) => open(path) }],
  ['a link replaces a file', 'a new name has one creator', { createWhole: () => true }],
  ['a link is never made', 'a new name has one creator', { createWhole: () => false }],
  ['a replaced file seems unchanged', 'an open file knows whether it has its name', { nameOf: () => 'same' }],
  [
    'an open file is kept under another name',
    'an open file knows whether it has its name',
    { nameOf: (...of) => (DISK.nameOf(...of) === 'none' ? 'other' : DISK.nameOf(...of)) },
  ],
  [
    'long names are refused',
    'names of 128 characters are possible',
    {
      open: (point, path, mode) => {
        if (path.length > 128 + tempDirectory().length)
          throw new SubstratError('STORAGE_FAILED', 'ENAMETOOLONG', { facts: { errno: 'ENAMETOOLONG' } })
        return DISK.open(point, path, mode)
      },
    },
  ],
  [
    'each file has the mode of the mount',
    'only the owner can access a new file',
    {
      statIfThere: (...of) => {
        const facts = DISK.statIfThere(...of)
        return facts && { ...facts, mode: 0o777 }
      },
    },
  ],
  [
    'the file server is an hour ahead',
    'the times of files agree with the clock',
    { now: () => Date.now() - 3_600_000 },
  ],
]

describe('a file system', () => {
  test('passes every check here', async () => {
    expect(await verdicts()).toEqual(HERE)
    expect(await verdicts({}, true)).toEqual(HERE)
  })

  test.each(BROKEN)('fails one check if %s', async (_world, what, disk) => {
    expect(await verdicts(disk)).toEqual({ ...HERE, [what]: 'does_not_hold' })
  })

  test('whose step fails gets the hint of that step if the user can follow it, otherwise another home', async () => {
    for (const [errno, hint] of [
      ['ENOSPC', 'free some space'],
      ['ENOTSUP', 'set SUBSTRAT_HOME to a directory on a local disk'],
    ] as const) {
      withFaults(failing(errno, ({ point }) => point === 'selftest.open'))
      const [synced] = await diskChecks(join(tempDirectory()), false)
      expect(synced).toMatchObject({ verdict: 'does_not_hold', next: expect.stringContaining(hint) })
    }
  })
})
