/**
 * Content too large for a line, in its own file, named by its hash. The file and its directory are fsynced before the
 * record that names it, so no power cut can take a blob that a record names. An orphan blob is harmless.
 */
import { dirname } from 'node:path'
import { damagedConversation } from '../../errors.js'
import * as io from '../../host/disk/io.js'
import { createWhole } from '../../host/disk/replace.js'
import { sha256Hex } from '../../start/hash.js'
import type { AgentPaths } from '../paths.js'

export interface BlobReference {
  blob: string
  bytes: number
}

export function writeBlob(agent: AgentPaths, content: Buffer): BlobReference {
  const blob = sha256Hex(content)
  // A spawn makes and fsyncs this directory. This restores a directory that a person deleted.
  if (io.mkdir('blob.mkdir', agent.blobs)) io.syncDirectory('blob.sync_directory', dirname(agent.blobs))
  createWhole('blob.create', agent.blob(blob), content)
  return { blob, bytes: content.length }
}

export function readBlob(agent: AgentPaths, reference: BlobReference): Buffer {
  const path = agent.blob(reference.blob)
  const content = io.readIfThere('blob.read', path)
  if (content !== undefined && sha256Hex(content) === reference.blob) return content
  throw damagedConversation(`the blob ${path} is ${content === undefined ? 'missing' : 'damaged'}`, {
    hint: 'restore it from a backup',
    facts: { path, blob: reference.blob },
  })
}
