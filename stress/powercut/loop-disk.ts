/**
 * A real file system in an image file. A power cut is a shutdown without a log flush, followed by a remount. If the
 * file system has no such shutdown, it comes up from a copy of its image, made while no write was in flight.
 */
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'

export const FILE_SYSTEMS = ['ext4', 'xfs', 'btrfs'] as const
export type FileSystem = (typeof FILE_SYSTEMS)[number]

const IMAGE_BYTES = 512 * 1024 * 1024
/** If writes continue during the copy, the copy is repeated. */
const COPIES_MAX = 20
/** FS_IOC_SHUTDOWN with "no log flush": everything in memory is lost, including the journal. */
const SHUT_DOWN =
  'sysopen(F, $ARGV[0], 0) or die "$!"; my $how = pack("L", 2); ioctl(F, 0x8004587D, $how) or die "$!"'

export class LoopDisk {
  readonly directory: string
  private readonly image: string
  private isMounted = false

  private constructor(
    root: string,
    private readonly kind: FileSystem,
  ) {
    this.image = join(root, `${kind}.img`)
    this.directory = join(root, kind)
  }

  /** Returns the reason as text if this machine cannot provide one. */
  static make(root: string, kind: FileSystem): LoopDisk | string {
    if (process.getuid?.() !== 0) return 'only root may mount'
    const disk = new LoopDisk(root, kind)
    // Runs before the parent directory is removed.
    process.prependOnceListener('exit', () => disk.remove())
    mkdirSync(disk.directory)
    closeSync(openSync(disk.image, 'w'))
    truncateSync(disk.image, IMAGE_BYTES)
    const problem = tryProgram(`mkfs.${kind}`, '-q', disk.image) ?? disk.mount() ?? disk.probe()
    if (problem === undefined) return disk
    disk.remove()
    return problem
  }

  /** Whether the writing processes must be killed before the cut, because the file system gives them no errors. */
  get isCutByCopy(): boolean {
    return this.kind === 'btrfs'
  }

  /** Later writes do not reach the disk: the writers get errors, or are dead. Returns the reason if the cut failed. */
  cutPower(): string | undefined {
    if (this.isCutByCopy) return this.copyImage()
    return tryProgram('perl', '-e', SHUT_DOWN, join(this.directory, 'probe'))
  }

  /** Mounts the disk as after a reboot. */
  comeUp(): void {
    const problem = this.unmount() ?? this.asItWas() ?? this.mount()
    if (problem !== undefined) throw new Error(problem)
  }

  /** Works even while processes use it. */
  remove(): void {
    if (this.isMounted) tryProgram('umount', '--lazy', this.directory)
    this.isMounted = false
    for (const file of [this.image, this.copy]) rmSync(file, { force: true })
  }

  private get copy(): string {
    return `${this.image}.cut`
  }

  /** The image lacks what the file system holds in memory. Unmounting writes that to the image, but not to the copy. */
  private copyImage(): string | undefined {
    const device = spawnSync('losetup', ['-n', '-O', 'NAME', '-j', this.image], { encoding: 'utf8' })
    const counts = `/sys/block/${basename(device.stdout.trim())}/stat`
    for (let n = 0; n < COPIES_MAX; n++) {
      const before = readFileSync(counts, 'utf8')
      const problem = tryProgram('cp', '--sparse=auto', this.image, this.copy)
      if (problem !== undefined) return problem
      if (isStill(before) && readFileSync(counts, 'utf8') === before) return undefined
    }
    return 'the disk never becomes idle'
  }

  private asItWas(): undefined {
    if (existsSync(this.copy)) renameSync(this.copy, this.image)
  }

  private mount(): string | undefined {
    const problem = tryProgram('mount', '-o', 'loop', this.image, this.directory)
    this.isMounted = problem === undefined
    return problem
  }

  private unmount(): string | undefined {
    const problem = this.isMounted ? tryProgram('umount', this.directory) : undefined
    if (problem === undefined) this.isMounted = false
    return problem
  }

  private probe(): string | undefined {
    writeFileSync(join(this.directory, 'probe'), '')
    spawnSync('sync', ['-f', this.directory])
    const unsynced = join(this.directory, 'unsynced')
    writeFileSync(unsynced, '')
    const problem = this.cutPower() ?? this.unmount() ?? this.asItWas() ?? this.mount()
    return problem ?? (existsSync(unsynced) ? 'a power cut removes nothing here' : undefined)
  }
}

/** The ninth count of a block device: requests in flight. */
function isStill(counts: string): boolean {
  return counts.trim().split(/\s+/)[8] === '0'
}

/** The error message; undefined on success. */
function tryProgram(program: string, ...words: string[]): string | undefined {
  const { status, error, stderr } = spawnSync(program, words, { encoding: 'utf8' })
  if (error !== undefined) return `${program} is not installed`
  return status === 0 ? undefined : `${program}: ${stderr.trim().split('\n').at(-1)}`
}
