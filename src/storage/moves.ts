/**
 * The moves that ended in this home for an agent that was removed since. The log of an agent says by which moves it came; this
 * remembers it after the log is gone, so that no move brings an agent into one home twice.
 *
 * After a crash there may be files of an agent that still exists, terminated (row A). They say the same as its log.
 */
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import type { EndedMoves } from './parts.js'
import type { HomePaths } from './paths.js'

export class MoveFiles implements EndedMoves {
  constructor(private readonly paths: HomePaths) {}

  has(agentId: string, moveId: string): boolean {
    return statIfThere('moves.stat', this.paths.endedMove(agentId, moveId)) !== undefined
  }

  /** On return they are durable. */
  add(agentId: string, moveIds: string[]): void {
    if (moveIds.length === 0) return
    io.mkdir('moves.mkdir', this.paths.moves)
    io.syncDirectory('moves.sync_home', this.paths.root)
    for (const id of moveIds) io.close(io.open('moves.create', this.paths.endedMove(agentId, id), 'create'))
    io.syncDirectory('moves.sync_directory', this.paths.moves)
  }
}
