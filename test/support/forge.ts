/** A log that no command writes, with a changed first record. */
import { rmSync } from 'node:fs'
import { frame } from '../../src/storage/log/frame.js'
import type { House } from './cli.js'

/** Rewrites the first record with a valid checksum. The snapshot is removed, as is allowed at any time. */
export function forgeCreated(house: House, id: string, change: object): void {
  rmSync(house.agentFile(id, 'session.json'), { force: true })
  house.damage(id, (log) => {
    const [first = '', ...others] = log.split('\n')
    const { crc: _, ...record } = JSON.parse(first)
    return [
      frame({ ...record, ...change })
        .toString()
        .trimEnd(),
      ...others,
    ].join('\n')
  })
}
