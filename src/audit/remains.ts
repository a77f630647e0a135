/**
 * Collects the facts that survive about the lost part of a log. The sources are the snapshot, the key index and the intact
 * records after the damage.
 *
 * The facts serve the rules that hold however much is lost: each message is delivered at most once, each key is used at
 * most once, each request gets an answer, and a terminated agent stays terminated.
 */
import { limits } from '../limits.js'
import type { LostRequest } from '../schema/types.js'
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
  /** Hashes of the keys that are not in `keys`, latest last. Unbounded, because none of them may count as new. */
  key_hashes: string[]
  /** Upper bound of the keys that are lost. */
  keysLost: number
  /** Records that restore the latest settings and provider state. */
  settings: NewRecord[]
  isTerminated: boolean
}

/** Bounds for full keys and requests, which must fit one line. */
const KEYS_BYTES_MAX = 256 * 1024
const REQUESTS_MAX = 1000

/** `whole`: the state at the end of the undamaged part. `snapshot`: an intact snapshot of this agent. */
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

/** `knownSeq`: the last record that the snapshot covers. Its settings already include that record's. */
function add(remains: Remains, record: SessionRecord, knownSeq: number): void {
  remains.last_seq = Math.max(remains.last_seq, record.seq)
  if (/^(mail\.delivered|channel\.taken|agent\..*)$/.test(record.kind))
    remains.delivered.push((record as { message_id: string }).message_id)
  if (record.kind === 'mail.delivered' && record.mail_kind === 'request')
    remains.requests.push({ message_id: record.message_id, from: record.from })
  if (record.kind === 'run.started' && record.key !== undefined) remains.keys.push(record.key)
  if (record.kind === 'session.rebuilt') remains.keys = remains.keys.concat(record.keys)
  // Elsewhere the agent may live. `import --reclaim` needs an intact log.
  if (record.kind === 'session.terminated' || record.kind === 'session.moved') remains.isTerminated = true
  if (record.kind === 'session.arrived') remains.isTerminated = false
  if (record.seq <= knownSeq) return
  const { seq: _, ts: __, batch: ___, crc: ____, ...said } = record as SessionRecord & { crc?: string }
  if (record.kind === 'session.configured') remains.settings.push(said as NewRecord)
  if (record.kind === 'channel.cursor')
    remains.settings.push({ kind: 'channel.cursor', cursor: record.cursor })
  if (record.kind === 'provider.state') remains.settings.push({ kind: 'provider.state', state: record.state })
}

/** Hashes of the keys in the record. */
function hashesIn(record: SessionRecord, lostKeys: LostKeys): string[] {
  if (record.kind === 'run.started') return record.key === undefined ? [] : hashesOfKey(record.key)
  if (record.kind !== 'session.rebuilt') return []
  return [...record.keys.flatMap(hashesOfKey), ...lostKeys.carriedBy(record)]
}

function settingsOf(state: State): NewRecord[] {
  const { instructions, options, model, workspace, title, allow, context, metadata, provider_state } = state
  const cursor = state.channel?.cursor ?? null
  const noted = {
    ...(context === undefined ? {} : { context }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  }
  return [
    { kind: 'session.configured', instructions, options, model, workspace, title, allow, ...noted },
    ...(cursor === null ? [] : [{ kind: 'channel.cursor' as const, cursor }]),
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
