/** What no command writes: a log whose first record says something else. */
import { rmSync } from 'node:fs'
import { frame } from '../../src/storage/log/frame.js'
import type { House } from './cli.js'

/** Rewrites the first record, checksum and all; the snapshot is gone, as it may be. */
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
