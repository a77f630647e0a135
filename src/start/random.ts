/** The only source of random numbers, so that the fuzzer can replace it. */
import { randomBytes } from 'node:crypto'
import { openSync, readSync } from 'node:fs'
import { closeFile } from './close-file.js'

export const random = { bytes: readRandom }

/** A UUID of version 4 (RFC 9562). */
export function randomUuid(): string {
  const bytes = random.bytes(16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** The size of an id. A secret is larger, and never comes from the pool. */
const POOLED_BYTES_MAX = 16
const POOL_BYTES = 64 * POOLED_BYTES_MAX

/** Bytes that no caller has yet: a process that writes many records needs many ids. */
let pool: Buffer | undefined

function readRandom(size: number): Buffer {
  if (size > POOLED_BYTES_MAX) return readKernel(size)
  if (pool === undefined || pool.length < size) pool = readKernel(POOL_BYTES)
  const bytes = pool.subarray(0, size)
  pool = pool.subarray(size)
  return bytes
}

/** Reads the kernel's generator, which node:crypto uses too. Loading node:crypto would take longer than the read. */
function readKernel(size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  try {
    const fd = openSync('/dev/urandom', 'r')
    try {
      if (readSync(fd, bytes, 0, size, null) === size) return bytes
    } finally {
      closeFile(fd)
    }
  } catch {
    // This system has no /dev/urandom.
  }
  return randomBytes(size)
}
