/** Kinds of file systems, by their numbers in statfs(2). Source of the numbers: statfs(2), linux/magic.h. */
import { fileSystemType } from './disk/facts.js'

export interface FileSystemKind {
  name: string
  /** Whether its locks and syncs are this kernel's own. */
  isLocal: boolean
  /** `survives`: real power cuts have tested it (docs/durability.md). `loses`: it is in memory. */
  powerCut: 'survives' | 'loses' | 'untested'
}

function local(name: string, powerCut: FileSystemKind['powerCut'] = 'untested'): FileSystemKind {
  return { name, isLocal: true, powerCut }
}

function remote(name: string): FileSystemKind {
  return { name, isLocal: false, powerCut: 'untested' }
}

const KINDS = new Map([
  [0xef53, local('ext4', 'survives')], // also ext2 and ext3
  [0x58465342, local('xfs', 'survives')],
  [0x9123683e, local('btrfs', 'survives')],
  [0xf2f52010, local('f2fs')],
  [0x2fc12fc1, local('zfs')],
  [0xca451a4e, local('bcachefs')],
  [0x01021994, local('tmpfs', 'loses')],
  [0x858458f6, local('ramfs', 'loses')],
  [0x794c7630, local('overlayfs')],
  [0x3153464a, local('jfs')],
  [0x52654973, local('reiserfs')],
  [0x6969, remote('NFS')],
  [0x517b, remote('SMB')],
  [0xfe534d42, remote('SMB')],
  [0xff534d42, remote('SMB')],
  [0x65735546, remote('FUSE')],
  [0x01021997, remote('9p')],
  [0x00c36400, remote('Ceph')],
  [0x4d44, remote('FAT')],
  [0x2011bab0, remote('exFAT')],
])

const KINDS_DARWIN = new Map([
  [0x1a, local('apfs')],
  [0x17, local('hfs')],
  [0x11, local('hfs')],
])

export function isLocalType(type: number): boolean {
  return kindOfType(type).isLocal
}

/** An unknown kind counts as one that is not local. */
function kindOfType(type: number): FileSystemKind {
  const known = (process.platform === 'darwin' ? KINDS_DARWIN : KINDS).get(type)
  return known ?? remote(`an unknown file system (0x${type.toString(16)})`)
}

export function fileSystemKind(path: string): FileSystemKind {
  return kindOfType(fileSystemType(path))
}
