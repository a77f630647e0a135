/** The file that tells the leashes of programs when a lease ends (`LeaseDeadline`). It is on this host, and not part of the home. */
import { renameSync, writeFileSync } from 'node:fs'

/** Replaced as a whole: a reader of half a number would kill the programs. */
export function writeDeadline(file: string, lease: string, deadlineMs: number): void {
  const temporary = `${file}.${lease}`
  writeFileSync(temporary, `${Math.floor(deadlineMs / 10)} ${lease}\n`, { mode: 0o600 })
  renameSync(temporary, file)
}
