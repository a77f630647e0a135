/** Where the tests keep their files: in memory where there is room, since a disk would add only the time of its syncs. */
import { readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
const BYTES_MIN = 2e9

/** TMPDIR where the caller has set it. */
export function temporaryDirectory(): string {
  return process.env.TMPDIR ?? (isUsable(MEMORY) ? MEMORY : tmpdir())
}

/** With room for what the tests write, and programs may be run from it: a container forbids that by default. */
function isUsable(directory: string): boolean {
  try {
    const { bsize, bavail } = statfsSync(directory)
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === directory)
    return bsize * bavail >= BYTES_MIN && mount !== undefined && !/\bnoexec\b|\bro\b/.test(mount)
  } catch {
    return false
  }
}
