/**
 * What is still known of the part of a log that is lost: from the snapshot and the key index, where they check, and from the
 * records behind the damage that check. It is for the rules that hold however much is lost: no message is taken twice, no key is used twice,
 * who asked is told, what ended stays ended.
 */
import { limits } from '../limits.js'
import type { LostRequest } from '../session/fields.js'
import { hashesOfKey } from '../session/key-hashes.js'
import { type NewRecord, type SessionRecord, wrongShape } from '../session/records.js'
import type { State } from '../session/state.js'
import type { LogReader } from '../storage/store.js'
import type { LostKeys } from './lost-keys.js'

export interface Remains {
  last_seq: number
  delivered: string[]
  requests: LostRequest[]
  keys: string[]
  /** Of keys that are not in `keys`, latest last. Unbounded: none may count as new. */
  key_hashes: string[]
  /** How many keys are known no more, at most. */
  keysLost: number
  /** As the session was set and restored last. */
  settings: NewRecord[]
  isTerminated: boolean
}

/** Keys by their names, and requests, are bounded so that they fit one line. */
const KEYS_BYTES_MAX = 256 * 1024
const REQUESTS_MAX = 1000

/** `whole`: the state at the end of the whole part. `snapshot`: of this agent, and checked. */
export function remainsOf(
  log: LogReader | undefined,
  whole: Pick<State, 'last_seq' | 'log_bytes'>,
  snapshot: State | undefined,
  lostKeys: LostKeys,
): Remains {
  const known = snapshot !== undefined && snapshot.last_seq > whole.last_seq ? snapshot : undefined
  const remains: Remains = {
    last_seq: Math.max(whole.last_seq, known?.last_seq ?? 0),
    delivered: [...(known?.delivered ?? [])],
    requests: known?.run?.status === 'open' ? [...known.run.requests] : [],
    keys: (known?.keys ?? []).filter(({ seq }) => seq > whole.last_seq).map(({ key }) => key),
    key_hashes: lostKeys.hashesAfter(whole.last_seq),
    keysLost: 0,
    settings: known === undefined ? [] : settingsOf(known),
    isTerminated: known?.state === 'terminated',
  }
  const keySeqs = lostKeys.knownTo(log, whole.log_bytes)
  for (const { key, seq } of known?.keys ?? []) for (const hash of hashesOfKey(key)) keySeqs.set(hash, seq)
  for (const record of log === undefined ? [] : recordsBehind(log, whole)) {
    add(remains, record, known?.last_seq ?? 0)
    for (const hash of hashesIn(record, lostKeys)) {
      keySeqs.set(hash, record.seq)
      remains.key_hashes.push(hash)
    }
  }
  return boundedRemains({ ...remains, keysLost: lostKeys.count(keySeqs) })
}

function* recordsBehind(
  log: LogReader,
  { log_bytes, last_seq }: Pick<State, 'log_bytes' | 'last_seq'>,
): Generator<SessionRecord> {
  for (const object of log.salvage(log_bytes)) {
    const record = object as unknown as SessionRecord
    if (wrongShape(object) === undefined && record.seq > last_seq) yield record
  }
}

/** `knownSeq`: what the snapshot knows already. */
function add(remains: Remains, record: SessionRecord, knownSeq: number): void {
  remains.last_seq = Math.max(remains.last_seq, record.seq)
  if (record.kind === 'mail.delivered' || record.kind.startsWith('agent.'))
    remains.delivered.push((record as { message_id: string }).message_id)
  if (record.kind === 'mail.delivered' && record.mail_kind === 'request')
    remains.requests.push({ message_id: record.message_id, from: record.from })
  if (record.kind === 'run.started' && record.key !== undefined) remains.keys.push(record.key)
  if (record.kind === 'session.rebuilt') remains.keys.push(...record.keys)
  if (record.kind === 'session.terminated') remains.isTerminated = true
  if (record.seq <= knownSeq) return
  const { seq: _, ts: __, batch: ___, crc: ____, ...said } = record as SessionRecord & { crc?: string }
  if (record.kind === 'session.configured') remains.settings.push(said as NewRecord)
  if (record.kind === 'provider.state') remains.settings.push({ kind: 'provider.state', state: record.state })
}

/** Of the keys in that record. */
function hashesIn(record: SessionRecord, lostKeys: LostKeys): string[] {
  if (record.kind === 'run.started') return record.key === undefined ? [] : hashesOfKey(record.key)
  if (record.kind !== 'session.rebuilt') return []
  return [...record.keys.flatMap(hashesOfKey), ...lostKeys.carriedBy(record)]
}

function settingsOf(state: State): NewRecord[] {
  const { instructions, options, model, workspace, title, allow, metadata, provider_state } = state
  const noted = Object.keys(metadata).length === 0 ? {} : { metadata }
  return [
    { kind: 'session.configured', instructions, options, model, workspace, title, allow, ...noted },
    ...(provider_state === null ? [] : [{ kind: 'provider.state' as const, state: provider_state }]),
  ]
}

function boundedRemains(remains: Remains): Remains {
  const delivered = [...new Set(remains.delivered)].slice(-2 * limits.deliveredIdsKeptMin)
  const requests = [...new Map(remains.requests.map((request) => [request.message_id, request])).values()]
  const keys: string[] = []
  let bytes = 0
  for (const key of [...new Set(remains.keys)].reverse()) {
    bytes += Buffer.byteLength(JSON.stringify(key)) + 1
    if (bytes > KEYS_BYTES_MAX) break
    keys.unshift(key)
  }
  const named = new Set(keys.flatMap(hashesOfKey))
  const unnamed = remains.keys.flatMap(hashesOfKey)
  const key_hashes = [...new Set([...remains.key_hashes, ...unnamed])].filter((hash) => !named.has(hash))
  return { ...remains, delivered, requests: requests.slice(-REQUESTS_MAX), keys, key_hashes }
}
