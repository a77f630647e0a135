/** A real file system in an image file, whose power can be cut: shut down without flushing its log, unmounted, mounted. */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const FILE_SYSTEMS = ['ext4', 'xfs'] as const
export type FileSystem = (typeof FILE_SYSTEMS)[number]

const IMAGE_BYTES = 512 * 1024 * 1024
/** FS_IOC_SHUTDOWN with "no log flush": what is only in memory is gone, the log's too. */
const SHUT_DOWN =
  'sysopen(F, $ARGV[0], 0) or die "$!"; my $how = pack("L", 2); ioctl(F, 0x8004587D, $how) or die "$!"'

export class LoopDisk {
  readonly directory: string
  private readonly image: string
  private isMounted = false

  private constructor(root: string, kind: FileSystem) {
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

  /** Whoever writes there gets errors from now on. */
  cutPower(): string | undefined {
    return tried('perl', '-e', SHUT_DOWN, join(this.directory, 'probe'))
  }

  /** As the machine finds it when it is on again. */
  comeUp(): void {
    const problem = this.unmounted() ?? this.mounted()
    if (problem !== undefined) throw new Error(problem)
  }

  /** Also while somebody works on it. */
  remove(): void {
    if (this.isMounted) tried('umount', '--lazy', this.directory)
    this.isMounted = false
    rmSync(this.image, { force: true })
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
    const problem = this.cutPower()
    return problem ?? this.unmounted() ?? this.mounted()
  }
}

/** Undefined where it went well. */
function tried(program: string, ...words: string[]): string | undefined {
  const { status, error, stderr } = spawnSync(program, words, { encoding: 'utf8' })
  if (error !== undefined) return `${program} is not installed`
  return status === 0 ? undefined : `${program}: ${stderr.trim().split('\n').at(-1)}`
}
