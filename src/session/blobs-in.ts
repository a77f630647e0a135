import { isBlob } from '../format.js'
import type { Content } from '../schema/types.js'

/** The blobs that a record names, in its own fields or in its calls. */
export function* blobsIn(value: unknown): Generator<Exclude<Content, string>> {
  if (typeof value !== 'object' || value === null) return
  if (isBlob(value)) yield value
  else {
    for (const [field, inner] of Object.entries(value)) {
      // A model chooses a tool's input, and a provider its items, so either may look like a blob reference.
      if (field !== 'input' && field !== 'asks' && field !== 'items') yield* blobsIn(inner)
    }
  }
}
