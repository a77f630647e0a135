/** By which hashes the key index has a key. */
import { KEY_HASH_BYTES } from '../format.js'
import { sha256Hex } from '../start/hash.js'
import type { FileStore } from '../storage/store.js'
import type { SessionRecord } from './records.js'

export type Rebuilt = Pick<SessionRecord & { kind: 'session.rebuilt' }, 'key_hashes' | 'more_key_hashes'>

/** Whether both stand for the same text. */
export function isSameKey(a: string, b: string): boolean {
  return a === b || a.normalize('NFC') === b.normalize('NFC')
}

/** By which a key of that form is found in the index. */
export function hashOfKey(key: string): string {
  return sha256Hex(key).slice(0, 2 * KEY_HASH_BYTES)
}

/** By which the index has a key: as it was recorded, and by its NFC form, by which it is looked for. */
export function hashesOfKey(key: string): string[] {
  const normal = key.normalize('NFC')
  return normal === key ? [hashOfKey(key)] : [hashOfKey(key), hashOfKey(normal)]
}

/** What `session.rebuilt` says of keys by their hashes alone. */
export function keyHashesIn(
  store: FileStore,
  agentId: string,
  { key_hashes = [], more_key_hashes }: Rebuilt,
): string[] {
  if (more_key_hashes === undefined) return key_hashes
  const hex = store.readBlob(agentId, more_key_hashes).toString('hex')
  return [...key_hashes, ...(hex.match(new RegExp(`.{${2 * KEY_HASH_BYTES}}`, 'g')) ?? [])]
}

/** Without a list of all of them, which may be very many. */
export function isHashIn(
  store: FileStore,
  agentId: string,
  { key_hashes = [], more_key_hashes }: Rebuilt,
  hash: string,
): boolean {
  if (key_hashes.includes(hash)) return true
  if (more_key_hashes === undefined) return false
  const more = store.readBlob(agentId, more_key_hashes)
  const bytes = Buffer.from(hash, 'hex')
  let at = more.indexOf(bytes)
  while (at !== -1 && at % KEY_HASH_BYTES !== 0) at = more.indexOf(bytes, at + 1)
  return at !== -1
}
