import { describe, expect, test } from 'vitest'
import { isLocalType } from '../../src/host/file-system.js'

describe('file systems', () => {
  test.each([
    ['ext4', 0xef53],
    ['xfs', 0x58465342],
    ['btrfs', 0x9123683e],
    ['tmpfs', 0x01021994],
    ['overlayfs', 0x794c7630],
  ])('%s is local', (_, type) => {
    expect(isLocalType(type)).toBe(true)
  })

  test.each([
    ['nfs', 0x6969],
    ['smb2', 0xfe534d42],
    ['cifs', 0xff534d42],
    ['ceph', 0x00c36400],
    ['fuse', 0x65735546],
    ['9p', 0x01021997],
    ['afs', 0x5346414f],
    ['gfs2', 0x01161970],
    ['lustre', 0x0bd00bd0],
    ['an unknown file system', 0x12345678],
  ])('%s is not local', (_, type) => {
    expect(isLocalType(type)).toBe(false)
  })
})
