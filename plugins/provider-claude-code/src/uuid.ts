import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** A random UUID. Linux gives one in a file; loading `node:crypto` would take longer than the rest of the plugin. */
export function newUuid(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/uuid', 'latin1').trim()
  } catch {
    return randomUUID()
  }
}
