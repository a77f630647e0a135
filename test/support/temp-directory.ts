/** The directory for test files: in memory if there is room, since a disk would only add the time of its syncs. */
import { readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
const BYTES_MIN = 2e9

/** TMPDIR if the caller has set it. */
export function temporaryDirectory(): string {
  return process.env.TMPDIR ?? (isUsable(MEMORY) ? MEMORY : tmpdir())
}

/** Needs enough room, and permission to run programs from it, which containers deny by default. */
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
