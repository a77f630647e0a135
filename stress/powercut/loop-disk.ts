/**
 * A real file system in an image file, whose power can be cut: shut down without flushing its log, unmounted, mounted. One
 * that cannot be shut down comes up from a copy of its image, made while nothing was written to it.
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
/** Of a disk that somebody writes to meanwhile another copy is made. */
const COPIES_MAX = 20
/** FS_IOC_SHUTDOWN with "no log flush": what is only in memory is gone, the log's too. */
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

  /** Or, in words, why there is none on this machine. */
  static make(root: string, kind: FileSystem): LoopDisk | string {
    if (process.getuid?.() !== 0) return 'only root may mount'
    const disk = new LoopDisk(root, kind)
    // Before the directory that it is in is taken away.
    process.prependOnceListener('exit', () => disk.remove())
    mkdirSync(disk.directory)
    closeSync(openSync(disk.image, 'w'))
    truncateSync(disk.image, IMAGE_BYTES)
    const problem = tried(`mkfs.${kind}`, '-q', disk.image) ?? disk.mounted() ?? disk.probed()
    if (problem === undefined) return disk
    disk.remove()
    return problem
  }

  /** Whether whoever works on it has to be dead before it is cut, as no error will stop them. */
  get isCutByCopy(): boolean {
    return this.kind === 'btrfs'
  }

  /** What is not on the disk by now never will be; whoever writes there gets errors, or is dead. */
  cutPower(): string | undefined {
    if (this.isCutByCopy) return this.copied()
    return tried('perl', '-e', SHUT_DOWN, join(this.directory, 'probe'))
  }

  /** As the machine finds it when it is on again. */
  comeUp(): void {
    const problem = this.unmounted() ?? this.asItWas() ?? this.mounted()
    if (problem !== undefined) throw new Error(problem)
  }

  /** Also while somebody works on it. */
  remove(): void {
    if (this.isMounted) tried('umount', '--lazy', this.directory)
    this.isMounted = false
    for (const file of [this.image, this.copy]) rmSync(file, { force: true })
  }

  private get copy(): string {
    return `${this.image}.cut`
  }

  /** What the file system has only in memory is not in the image yet; unmounting writes it there, and not into the copy. */
  private copied(): string | undefined {
    const device = spawnSync('losetup', ['-n', '-O', 'NAME', '-j', this.image], { encoding: 'utf8' })
    const counts = `/sys/block/${basename(device.stdout.trim())}/stat`
    for (let n = 0; n < COPIES_MAX; n++) {
      const before = readFileSync(counts, 'utf8')
      const problem = tried('cp', '--sparse=auto', this.image, this.copy)
      if (problem !== undefined) return problem
      if (isStill(before) && readFileSync(counts, 'utf8') === before) return undefined
    }
    return 'the disk is never still'
  }

  private asItWas(): undefined {
    if (existsSync(this.copy)) renameSync(this.copy, this.image)
  }

  private mounted(): string | undefined {
    const problem = tried('mount', '-o', 'loop', this.image, this.directory)
    this.isMounted = problem === undefined
    return problem
  }

  private unmounted(): string | undefined {
    const problem = this.isMounted ? tried('umount', this.directory) : undefined
    if (problem === undefined) this.isMounted = false
    return problem
  }

  private probed(): string | undefined {
    writeFileSync(join(this.directory, 'probe'), '')
    spawnSync('sync', ['-f', this.directory])
    const unsynced = join(this.directory, 'unsynced')
    writeFileSync(unsynced, '')
    const problem = this.cutPower() ?? this.unmounted() ?? this.asItWas() ?? this.mounted()
    return problem ?? (existsSync(unsynced) ? 'a cut takes nothing away' : undefined)
  }
}

/** By the ninth count of a block device: what is on its way to it. */
function isStill(counts: string): boolean {
  return counts.trim().split(/\s+/)[8] === '0'
}

/** Undefined where it went well. */
function tried(program: string, ...words: string[]): string | undefined {
  const { status, error, stderr } = spawnSync(program, words, { encoding: 'utf8' })
  if (error !== undefined) return `${program} is not installed`
  return status === 0 ? undefined : `${program}: ${stderr.trim().split('\n').at(-1)}`
}
