/** A key: one message, one run, one reply. */
import type { Mutant } from '../mutant.js'

export const KEYS: Mutant[] = [
  {
    name: 'a message with a key is delivered without looking up the key',
    edits: [['request.key === null ? undefined : findKey(ctx.store, state, request.key)', 'undefined']],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a key used for a different message returns its outcome instead of a conflict',
    edits: [['if (run.digest !== digestOf(request.content)) throw keyConflict(state, request)', ';']],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a turn belongs to a key even if its message differs',
    edits: [['run.digest === digestOf(content)', 'content !== null']],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a key whose run failed is run again without --retry',
    edits: [
      [
        "request.retry && run.status !== 'completed'",
        "run.status === 'failed' || (request.retry && run.status !== 'completed')",
      ],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a key whose run was cancelled is run again without --retry',
    edits: [
      [
        "request.retry && run.status !== 'completed'",
        "run.status === 'cancelled' || (request.retry && run.status !== 'completed')",
      ],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a key whose interrupted run was superseded is run again without --retry',
    edits: [
      [
        "run.status === 'interrupted' && isLatest(state, run) && continuesTurn(state)",
        "run.status === 'interrupted' && continuesTurn !== undefined",
      ],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'repeating a key supersedes its turn that the operator must decide about',
    edits: [['continuesTurn(state)', 'continuesTurn !== undefined']],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a key with an unknown outcome is run again',
    edits: [['throw lostKey(state, request.key as string)', 'return undefined']],
    suites: ['audit/rebuild-log', 'commands/doctor'],
  },
  {
    name: 'a queued message is delivered although its key was answered',
    edits: [
      [
        'if (run.digest !== digest) return false',
        'return run.digest === null && message_id === idOfKey(state.id, key)',
      ],
      ["return run.status === 'completed' || message_id === idOfKey(state.id, key)", ';'],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a queued message is delivered although its key has had a turn',
    edits: [
      [
        "run.status === 'completed' || message_id === idOfKey(state.id, key)",
        "run.status === 'completed' && message_id !== null",
      ],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a queued retry of a key is dropped',
    edits: [
      [
        "run.status === 'completed' || message_id === idOfKey(state.id, key)",
        "run.status !== 'open' && message_id !== null",
      ],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'the state has two entries for one key',
    edits: [['entry.key !== key', 'entry.key !== null']],
    suites: ['session/fold/fold'],
  },
  {
    name: 'the state drops keys without updating keys_since',
    edits: [['keys_since: isFull || keys_since > 0 ? (kept[0] as KeyEntry).seq : 0', 'keys_since']],
    suites: ['session/fold/fold', 'session/key-index'],
  },
  {
    name: 'the index forgets old keys although it has few',
    edits: [
      [
        'seqAt(entries, at) < newestFrom && entries.readUInt32BE(at + MINUTE_AT) < minuteMin',
        'entries.readUInt32BE(at + MINUTE_AT) < minuteMin',
      ],
    ],
    suites: ['storage/log/key-entries'],
  },
  {
    name: 'the index forgets recent keys',
    edits: [
      [
        'entries.readUInt32BE(at + MINUTE_AT) < minuteMin',
        'entries.readUInt32BE(at + MINUTE_AT) < minuteMin + 99',
      ],
    ],
    suites: ['storage/log/key-entries'],
  },
  {
    name: 'a key index that does not belong to this log is used',
    edits: [
      [
        'log.checksumAt(end.last_seq, end.last_offset, end.log_bytes) === end.record_crc',
        'log.checksumAt(end.last_seq, end.last_offset, end.log_bytes) !== null',
      ],
    ],
    suites: ['session/key-index'],
  },
  {
    name: 'a key index that is behind the log is used',
    edits: [
      [
        'isBehind ? placesSince(store, log, index, state).get(hash) : undefined',
        'isBehind && state.keys_since < 0 ? placesSince(store, log, index, state).get(hash) : undefined',
      ],
    ],
    suites: ['session/key-index'],
  },
  {
    name: 'a key counts as new if the index is missing or damaged',
    edits: [['gatherKeys(store, log, state).get(hash)', 'undefined']],
    suites: ['session/key-index'],
  },
  {
    name: 'a damaged page of the key index is used',
    edits: [
      [
        'pageCrc(page, number, headCrc) === page.readUInt32BE(PAGE_CRC_AT)',
        'pageCrc(page, number, headCrc) >= 0',
      ],
    ],
    suites: ['session/key-index', 'audit/lost-keys'],
  },
  {
    name: 'a key is searched only near the expected place of its hash',
    edits: [['low <= high', 'low <= high && probes < NEAR_PROBES']],
    suites: ['storage/log/key-file'],
  },
  {
    name: 'a page of an older key index is used',
    edits: [['crc32(`page ${number}`, headCrc)', 'crc32(`page ${number}`, headCrc === 0 ? 1 : 0)']],
    suites: ['session/key-index'],
  },
  {
    name: 'the key index is written after keys have left the state',
    edits: [
      [
        'index !== undefined && isByForm && !isBehind && late.length < limits.keysLateMax',
        'index !== undefined && late.length < limits.keysLateMax * 2',
      ],
    ],
    suites: ['session/key-index'],
  },
  {
    name: 'a key that an index of an earlier version lacks counts as new',
    edits: [['found.place === undefined && file?.isByForm === true', 'found.place === undefined']],
    suites: ['operations/key-forms'],
  },
  {
    name: 'a key is indexed only by its recorded Unicode form',
    edits: [[', hashOfKey(normal)', '']],
    suites: ['operations/key-forms'],
  },
  {
    name: 'one damaged page of the key index loses the other pages',
    edits: [
      [
        'new SalvagedPages(Buffer.concat(pages), gaps, last_seq)',
        'new SalvagedPages((gaps).length > 0 ? Buffer.alloc(0) : Buffer.concat(pages), gaps, last_seq)',
      ],
    ],
    suites: ['audit/lost-keys'],
  },
  {
    name: 'rebuilding a log drops key hashes that do not fit in a record',
    edits: [
      [
        `,
         ...(inBlob.length === 0 ? {} : { more_key_hashes: store.upkeep.writeBlob(agentId, inBlob) })`,
        '',
      ],
    ],
    suites: ['audit/lost-keys'],
  },
  {
    name: 'the key index of a damaged log is not fsynced',
    step: 'keys.fsync',
    suites: ['audit/lost-keys'],
  },
  {
    name: 'a notification with a key is stored again while its turn is open',
    edits: [['asked ?? idOfKey(to.id, message.key as string)', 'asked']],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'repeating a key stores its message twice',
    edits: [['key === null ? randomUuid() : nextIdOfKey(store, to, key)', 'randomUuid()']],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a queued message stands in for a different message with the same key',
    edits: [
      [
        'if (stored !== undefined && stored.digest !== digestOf(content)) throw keyConflict(to, request)',
        'void stored',
      ],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'queue reports the outcome of a key before its record is fsynced',
    edits: [
      [
        'request.key === null ? withAgent(store, request.agentId, recipientOf) : undefined',
        'withAgent(store, request.agentId, recipientOf)',
      ],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'send reports the outcome of a key before its record is fsynced',
    edits: [
      [
        `import { openDurable } from '../../session/load.js'
         import { sendAs } from './as-agent.js'`,
        `import { openForRead as openDurable } from '../../session/load.js'
         import { sendAs } from './as-agent.js'`,
      ],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a continued run loses its key and its other options',
    edits: [['...messageOptions(run)', '...messageOptions()']],
    suites: ['dispatch/acknowledged'],
  },
]
