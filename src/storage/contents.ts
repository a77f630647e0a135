/** The texts of agents in files, for a search. */
import type { JsonObject } from '../format.js'
import * as io from '../host/disk/io.js'
import { contains, recordsFound } from './log/found.js'
import { finderOf } from './log/needle.js'
import type { Logs } from './logs.js'
import type { BlobReference, Contents, Needle } from './parts.js'
import type { HomePaths } from './paths.js'

const PART_BYTES = 1024 * 1024

export class ContentFiles implements Contents {
  constructor(
    private readonly paths: HomePaths,
    private readonly logs: Logs,
  ) {}

  *recordsWith(agentId: string, needle: Needle): Generator<JsonObject> {
    const finder = finderOf(needle)
    const log = this.logs.openForRead(agentId)
    if (log === undefined) return
    try {
      // Listed after the log was opened: a blob is there before the record that names it.
      const agent = this.paths.agent(agentId)
      const blobs = new Set(
        io
          .listDirectory('blob.list', agent.blobs)
          .filter((blob) => contains(partsOf(agent.blob(blob)), finder)),
      )
      yield* recordsFound(log, finder, blobs)
    } finally {
      log.close()
    }
  }

  blobParts(agentId: string, { blob }: BlobReference): Generator<Buffer> {
    return partsOf(this.paths.agent(agentId).blob(blob))
  }
}

function* partsOf(path: string): Generator<Buffer> {
  const file = io.openIfThere('blob.open', path, 'read')
  if (file === undefined) return
  try {
    for (let at = 0; ; at += PART_BYTES) {
      const part = io.readRange('blob.read', file, at, at + PART_BYTES)
      if (part.length > 0) yield part
      if (part.length < PART_BYTES) return
    }
  } finally {
    io.close(file)
  }
}
