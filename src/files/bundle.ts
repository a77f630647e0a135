/**
 * The file of a bundle: a gzipped tar of `manifest.json` and, for each agent, `agents/<id>/log` and `agents/<id>/blobs/<sha256>`.
 *
 * A bundle from elsewhere is checked completely before anything is created. It is refused if it has other files, links, sizes or
 * checksums than its manifest says, if it is too large, or if a newer version made it.
 *
 * The manifest comes first, and no more is decompressed than it says. So a small file cannot take much memory unnoticed.
 */
import { constants, gunzipSync, gzipSync, type ZlibOptions } from 'node:zlib'
import { SubstratError } from '../errors.js'
import { FORMAT, isKnownFormat, isUuid } from '../format.js'
import { limits } from '../limits.js'
import type { Bundle, BundledAgent } from '../schema/bundle.js'
import { BUNDLE_PREDICATES } from '../schema/generated/bundle-predicates.js'
import { sha256Hex } from '../start/hash.js'
import {
  type ArchivedFile,
  archivedBytes,
  END_BYTES,
  filesOf,
  firstFileOf,
  PADDED_END_BYTES,
  refused,
  shown,
  tarParts,
} from './tar.js'

export const BUNDLE_VERSION = 1

const MANIFEST = 'manifest.json'
/** At most 66 MB when decompressed: deflate needs a byte for 1032. */
const BEGINNING_BYTES = 64 * 1024

export interface BundledFiles {
  manifest: Bundle
  /** By the agent's id. */
  logs: Map<string, Buffer>
  /** By the agent's id, then by hash. */
  blobs: Map<string, Map<string, Buffer>>
}

/** Each file is compressed by itself, as a member of the gzip file, so that there is no second copy of all contents. */
export function packBundle({ manifest, logs, blobs }: BundledFiles): Buffer {
  const files: ArchivedFile[] = [{ path: MANIFEST, bytes: manifestBytes(manifest) }]
  for (const { id } of manifest.agents) {
    files.push({ path: logPath(id), bytes: logs.get(id) as Buffer })
    for (const [blob, bytes] of blobs.get(id) ?? []) files.push({ path: blobPath(id, blob), bytes })
  }
  return Buffer.concat([...tarParts(files)].map((part) => gzipSync(part)))
}

/** Whether `unpackBundle` would refuse the bundle for its size. */
export function isTooLarge(manifest: Bundle): boolean {
  const { length } = manifestBytes(manifest)
  return length > limits.bundleManifestBytesMax || unpackedBytes(manifest, length) > limits.bundleBytesMax
}

/** Throws USAGE for a file that is not a whole bundle, UNKNOWN_FORMAT for one of a newer version. */
export function unpackBundle(packed: Buffer): BundledFiles {
  const bytes = firstFile(packed)
  const manifest = manifestIn(bytes)
  checkTree(manifest)
  const size = unpackedBytes(manifest, bytes.length)
  if (size > limits.bundleBytesMax)
    throw refused(`its contents are larger than ${limits.bundleBytesMax} bytes`)
  const files = filesOf(unzipped(packed, size))
  files.delete(MANIFEST)
  const logs = new Map<string, Buffer>()
  const blobs = new Map<string, Map<string, Buffer>>()
  for (const { id, log_bytes, log_sha256, blobs: named } of manifest.agents) {
    logs.set(id, take(files, logPath(id), log_bytes, log_sha256))
    blobs.set(
      id,
      new Map(named.map(({ blob, bytes }) => [blob, take(files, blobPath(id, blob), bytes, blob)])),
    )
  }
  const [other] = files.keys()
  if (other !== undefined) throw refused(`its manifest does not have the file ${shown(other)}`)
  return { manifest, logs, blobs }
}

function manifestBytes(manifest: Bundle): Buffer {
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
}

/** The size of the archive, by its manifest. */
function unpackedBytes({ agents }: Bundle, manifestLength: number): number {
  let sum = archivedBytes(manifestLength) + END_BYTES
  for (const { log_bytes, blobs } of agents) {
    for (const size of [log_bytes, ...blobs.map(({ bytes }) => bytes)]) {
      if (size < 0) throw refused('a size in its manifest.json is negative')
      sum += archivedBytes(size)
    }
  }
  return sum
}

/** The manifest, from the beginning of the archive. */
function firstFile(packed: Buffer): Buffer {
  for (let length = BEGINNING_BYTES; ; length *= 4) {
    const part = unzippedPart(packed.subarray(0, length))
    const first = firstFileOf(part)
    if (first !== undefined) {
      if (first.path !== MANIFEST) throw refused('it has no manifest.json at its beginning')
      if (first.size > limits.bundleManifestBytesMax) throw refused('its manifest.json is too large')
      if (first.bytes.length === first.size) return first.bytes
    }
    if (length >= packed.length) throw refused('it is cut short')
  }
}

function unzippedPart(packed: Buffer): Buffer {
  return gunzip(packed, {
    finishFlush: constants.Z_SYNC_FLUSH,
    maxOutputLength: limits.bundleBytesMax,
  })
}

/** In one buffer of that size, without a copy. */
function unzipped(packed: Buffer, size: number): Buffer {
  const bytesMax = size + PADDED_END_BYTES
  return gunzip(packed, { chunkSize: bytesMax, maxOutputLength: bytesMax })
}

function gunzip(packed: Buffer, options: ZlibOptions): Buffer {
  try {
    return gunzipSync(packed, options)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw refused('it has more than its manifest says')
    throw refused('it is not compressed by gzip, or is cut short')
  }
}

function manifestIn(bytes: Buffer): Bundle {
  let manifest: Partial<Bundle> | null
  try {
    manifest = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw refused('its manifest.json is not JSON')
  }
  if (typeof manifest !== 'object' || manifest === null) throw refused('its manifest.json is not an object')
  const { bundle: version, format } = manifest
  // A newer version may have other fields, so its version is compared first.
  if (Number.isSafeInteger(version) && (version as number) > BUNDLE_VERSION) throw newer(`version ${version}`)
  if (Number.isSafeInteger(format) && !isKnownFormat(format) && (format as number) > FORMAT)
    throw newer(`logs of format ${format}`)
  for (const [field, isValid] of Object.entries(BUNDLE_PREDICATES.bundle))
    if (!isValid(manifest[field as keyof Bundle])) throw refused(`${field} in its manifest.json is invalid`)
  return manifest as Bundle
}

function newer(what: string): SubstratError {
  return new SubstratError(
    'UNKNOWN_FORMAT',
    `the bundle has ${what}, which this version of substrat does not read`,
    {
      hint: 'use the version of substrat that exported it, or a newer one',
    },
  )
}

/** One root first, each parent before its children, and each id once. */
function checkTree({ bundle, agents }: Bundle): void {
  if (bundle !== BUNDLE_VERSION) throw refused(`its version is ${bundle}`)
  const known = new Set<string>()
  for (const [index, { id, parent }] of agents.entries()) {
    if (!isUuid(id) || known.has(id)) throw refused(`the id ${shown(id)} is not the id of one agent`)
    if (index === 0 ? parent !== null : parent === null || !known.has(parent))
      throw refused(`agent ${id} has no place in its tree`)
    known.add(id)
  }
  if (agents.length === 0) throw refused('it has no agents')
}

function take(files: Map<string, Buffer>, path: string, bytes: number, sha256: string): Buffer {
  const found = files.get(path)
  if (found === undefined) throw refused(`it lacks the file ${shown(path)}`)
  if (found.length !== bytes) throw refused(`${shown(path)} has ${found.length} bytes instead of ${bytes}`)
  if (sha256Hex(found) !== sha256) throw refused(`${shown(path)} does not have its checksum`)
  files.delete(path)
  return found
}

function logPath(id: BundledAgent['id']): string {
  return `agents/${id}/log`
}

function blobPath(id: string, blob: string): string {
  return `agents/${id}/blobs/${blob}`
}
