/** The manifest of a bundle (`export --bundle`, `import`). */
import { z } from 'zod'
import { integer, text, time, uuid } from './types.js'

const sha256 = text.describe('In hex.')

const bundledBlob = z
  .object({ blob: sha256, bytes: integer })
  .meta({ id: 'bundled_blob', description: 'Content that the log names by its hash.' })

const bundledAgent = z
  .object({
    id: uuid,
    name: text.nullable(),
    parent: uuid.nullable().describe('In the bundle. Null for its first agent.'),
    path: text.describe('In the home of the original.'),
    log_bytes: integer,
    log_sha256: sha256,
    blobs: z.array(bundledBlob),
  })
  .meta({ id: 'bundled_agent', description: 'An agent of a bundle.' })

export const bundle = z
  .object({
    bundle: integer.describe('Version of the bundle: 1.'),
    format: integer.describe('The newest format of its logs.'),
    bundle_id: uuid,
    home_id: uuid.describe('The home of the originals.'),
    exported_at: time,
    move_id: uuid.optional().describe('Only if the agents move: they keep their ids.'),
    agents: z.array(bundledAgent).describe('Each parent before its children.'),
  })
  .describe('`manifest.json` of a bundle.')

export type Bundle = z.infer<typeof bundle>
export type BundledAgent = z.infer<typeof bundledAgent>
