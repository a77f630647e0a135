import { describe, expect, test } from 'vitest'
import { free, mountOf, options, powerCuts } from '../../../src/host/selftest/file-system-checks.js'

const MOUNTS = `
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:30 / /mnt rw,relatime - nfs4 server:/x rw,vers=4.2,local_lock=none
31 22 0:31 / /mnt/with\\040space rw - fuse.sshfs me@host:/ rw,user_id=0
32 22 0:32 / /srv rw - ext4 /dev/vdb rw,nobarrier
33 22 0:33 / /srv rw - tmpfs tmpfs rw`

describe('the mount of a path', () => {
  test.each([
    ['/home/me', 'ext4'],
    ['/mnt', 'nfs4'],
    ['/mnt/deep/path', 'nfs4'],
    ['/mnt2', 'ext4'],
    ['/mnt/with space/a', 'fuse.sshfs'],
    ['/srv/on-top', 'tmpfs'],
  ])('%s is on %s', (path, type) => {
    expect(mountOf(path, MOUNTS)?.type).toBe(type)
  })

  test('is unknown without /proc', () => {
    expect(mountOf('/home/me', undefined)).toBe(undefined)
    expect(options(undefined).verdict).toBe('unknown')
  })
})

describe('an option of the mount', () => {
  test.each(['volatile', 'fsync=volatile', 'nobarrier', 'barrier=0', 'nolock', 'local_lock=all', 'nobrl'])(
    '%s does not hold',
    (option) => {
      const found = options({ type: 'any', options: ['rw', option] })
      expect(found).toMatchObject({ verdict: 'does_not_hold', detail: expect.stringContaining(option) })
      expect(found.next).toContain(`without ${option}`)
    },
  )

  test.each(['barrier=1', 'local_lock=none', 'relatime'])('%s holds', (option) => {
    expect(options({ type: 'any', options: ['rw', option] }).verdict).toBe('holds')
  })
})

test.each([
  ['tested', { isLocal: true, powerCut: 'survives' }, 'holds'],
  ['in memory', { isLocal: true, powerCut: 'loses' }, 'does_not_hold'],
  ['local, but not tested', { isLocal: true, powerCut: 'untested' }, 'unknown'],
  ['not local', { isLocal: false, powerCut: 'untested' }, 'unknown'],
] as const)('a file system that is %s: %o', (_, kind, verdict) => {
  expect(powerCuts({ name: 'x', ...kind }, { type: 'y', options: [] }).verdict).toBe(verdict)
})

test.each([
  [{ bytes: 1e9, inodes: 1e6 }, 'holds'],
  [{ bytes: 1e9, inodes: undefined }, 'holds'],
  [{ bytes: 1e6, inodes: 1e6 }, 'does_not_hold'],
  [{ bytes: 1e9, inodes: 3 }, 'does_not_hold'],
] as const)('free space %o', (space, verdict) => {
  expect(free(space).verdict).toBe(verdict)
})
