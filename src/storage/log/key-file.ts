/**
 * The file `keys` of an agent: the place in its log where the latest run of each key begins. A cache of the log that
 * finds a key by its hash without reading the whole file.
 *
 * Layout: a head, which is a framed line, then pages of 4 KiB. A page has 32-byte entries sorted by hash, zeros, and a
 * CRC-32 in its last four bytes. An entry has the first 16 bytes of the key's SHA-256, then the seq and offset of a
 * record (6 bytes each). Its last 4 bytes are that record's minute since 1970. All numbers are big-endian.
 *
 * Invariants: the file is written whole under a temporary name and renamed, never changed in place. It is not fsynced,
 * so a power cut may leave it missing, empty, all NUL, older, or with pages of an older file. Three checks detect this:
 * - The head names the last record of the log that it covers.
 * - The size of the file follows from the head.
 * - The CRC of a page also covers the head's CRC and the page number.
 *
 * A file that fails a check is not used. If the log is damaged, every page with a good CRC is used.
 */

import type { JsonObject } from '../../format.js'
import * as io from '../../host/disk/io.js'
import { replace } from '../../host/disk/replace.js'
import { crc32 } from '../../start/crc32.js'
import type { KeyDifference, KeyIndex, KeyIndexEnd, SalvagedKeys } from '../parts.js'
import { checksumOf, frame, LF, unframe } from './frame.js'
import {
  compareAt,
  ENTRY_BYTES,
  eachEntry,
  findEntry,
  forgetOld,
  type KeyPlace,
  type KeyRetention,
  mergeEntries,
} from './key-entries.js'

const VERSION = 1
/**
 * Each key is indexed by the hash of its NFC form, and also by that of its recorded form. Older versions had only the
 * latter.
 */
const FORMS = 'NFC'
const PAGE_BYTES = 4096
const PAGE_ENTRIES = 127
const PAGE_CRC_AT = PAGE_BYTES - 4
/** The search reads this many pages near a hash's expected place before it bisects. */
const NEAR_PROBES = 3
/** Every head is shorter. */
const HEAD_BYTES_MAX = 512

export class KeyFile implements KeyIndex {
  private constructor(
    private readonly file: io.OpenFile,
    readonly end: KeyIndexEnd,
    private readonly count: number,
    private readonly headBytes: number,
    private readonly headCrc: number,
    /** Whether NFC forms are indexed. Otherwise a miss proves nothing about a key recorded in another form. */
    readonly isByForm: boolean,
  ) {}

  /** Undefined if the file is missing, or its head is damaged or of another agent. */
  static open(path: string, agentId: string): KeyFile | undefined {
    const file = io.openIfThere('keys.open', path, 'read')
    if (file === undefined) return undefined
    let opened: KeyFile | undefined
    try {
      opened = KeyFile.create(file, agentId)
    } finally {
      if (opened === undefined) io.close(file)
    }
    return opened
  }

  private static create(file: io.OpenFile, agentId: string): KeyFile | undefined {
    const start = io.readRange('keys.read', file, 0, HEAD_BYTES_MAX)
    const headBytes = start.indexOf(LF) + 1
    const line = headBytes === 0 ? { damage: 'it has no head' } : unframe(start.subarray(0, headBytes - 1))
    if ('damage' in line || line.object.keys !== VERSION || line.object.agent_id !== agentId) return undefined
    const { count } = line.object as { count: number }
    const end = endOf(line.object)
    const isPlaced = [count, end.last_seq, end.last_offset, end.log_bytes].every(Number.isSafeInteger)
    if (!isPlaced || io.sizeOf(file) !== headBytes + pagesOf(count) * PAGE_BYTES) return undefined
    const isByForm = line.object.forms === FORMS
    return new KeyFile(file, end, count, headBytes, crcOf(start.subarray(0, headBytes)), isByForm)
  }

  close(): void {
    io.close(this.file)
  }

  /**
   * Undefined if a page on the way is damaged. Hashes are spread evenly, so the search begins at the expected page and
   * mostly reads one or two pages. In the worst case it bisects.
   */
  find(hash: Buffer): { place: KeyPlace | undefined } | undefined {
    const pages = pagesOf(this.count)
    const expected = Math.floor((hash.readUInt32BE(0) / 2 ** 32) * pages)
    let [low, high] = [0, pages - 1]
    for (let probes = 0; low <= high; probes++) {
      const number = probes < NEAR_PROBES ? Math.min(Math.max(expected, low), high) : (low + high) >> 1
      const page = this.page(number)
      if (page === undefined) return undefined
      if (compareAt(hash, page, 0) < 0) high = number - 1
      else if (compareAt(hash, page, page.length - ENTRY_BYTES) > 0) low = number + 1
      else return { place: findEntry(page, hash) }
    }
    return { place: undefined }
  }

  /**
   * Entries that differ from `places`, the keys in the log, after `kept` has dropped the forgotten ones. Undefined if a
   * page is damaged.
   */
  differences(places: ReadonlyMap<string, KeyPlace>, kept: KeyRetention): KeyDifference[] | undefined {
    const entries = this.entries()
    if (entries === undefined) return undefined
    const expected = forgetOld(mergeEntries(Buffer.alloc(0), places), kept)
    return [...eachEntry(expected)].flatMap(([hash, place]) => {
      const found = findEntry(entries, Buffer.from(hash, 'hex'))
      // An older version's file lacks NFC forms, so a miss in it is not a finding. Its next use rebuilds it.
      const isMissed = found === undefined && this.isByForm
      return isMissed || (found !== undefined && found.seq !== place.seq) ? [{ expected: place, found }] : []
    })
  }

  /** All entries, as input for `KeyIndexes.write`. Undefined if a page is damaged. */
  entries(): Buffer | undefined {
    const pages: Buffer[] = []
    for (let number = 0; number < pagesOf(this.count); number++) {
      const page = this.page(number)
      if (page === undefined) return undefined
      pages.push(page)
    }
    return Buffer.concat(pages)
  }

  /** The entries of that page. Undefined if the page is damaged. */
  private page(number: number): Buffer | undefined {
    const from = this.headBytes + number * PAGE_BYTES
    const page = io.readRange('keys.read', this.file, from, from + PAGE_BYTES)
    if (!isWhole(page, number, this.headCrc)) return undefined
    return page.subarray(0, Math.min(PAGE_ENTRIES, this.count - number * PAGE_ENTRIES) * ENTRY_BYTES)
  }
}

/** The undamaged parts of a key file. */
class SalvagedPages implements SalvagedKeys {
  constructor(
    /** Entries of the undamaged pages. */
    private readonly entries: Buffer,
    /** Runs of damaged pages. */
    private readonly gaps: KeyGap[],
    /** The last record that the file covers. The largest integer if the head is damaged. */
    readonly last_seq: number,
  ) {}

  get hasGaps(): boolean {
    return this.gaps.length > 0
  }

  /** The place of each remaining key, by the key's hash in hex. */
  places(): Generator<[hash: string, place: KeyPlace]> {
    return eachEntry(this.entries)
  }

  /** Upper bound of keys lost in the gaps, without those in `known` (hashes in hex). */
  lostBeside(known: string[]): number {
    const hashes = known.map((hash) => Buffer.from(hash, 'hex'))
    const counts = this.gaps.map(({ count, after, before }) => {
      const found = hashes.filter((hash) => {
        const isAfter = after === undefined || compareAt(hash, after, 0) > 0
        return isAfter && (before === undefined || compareAt(hash, before, 0) < 0)
      })
      return Math.max(0, count - found.length)
    })
    return counts.reduce((sum, count) => sum + count, 0)
  }
}

interface KeyGap {
  /** Upper bound of the entries lost here. */
  count: number
  /** The nearest remaining entries, if any. The lost hashes sort between them. */
  after: Buffer | undefined
  before: Buffer | undefined
}

/**
 * Salvages each page by itself. If the head is damaged but its checksum digits are readable, pages are checked against
 * those. Salvages nothing from another agent's file. Reads the whole file, and throws if the disk cannot.
 */
export function salvageKeyFile(path: string, agentId: string): SalvagedKeys {
  const bytes = io.readIfThere('keys.read', path) ?? Buffer.alloc(0)
  const headEnd = bytes.subarray(0, HEAD_BYTES_MAX).indexOf(LF) + 1
  const line = headEnd === 0 ? { damage: 'it has no head' } : unframe(bytes.subarray(0, headEnd - 1))
  if ('damage' in line) {
    const count = Math.floor(bytes.length / PAGE_BYTES) * PAGE_ENTRIES
    return salvagePages(bytes, bytes.length % PAGE_BYTES, count, Number.MAX_SAFE_INTEGER)
  }
  const { keys, agent_id, count, last_seq } = line.object as Record<string, unknown>
  const isOurs = keys === VERSION && agent_id === agentId
  return salvagePages(bytes, headEnd, isOurs ? (count as number) : 0, last_seq as number)
}

function salvagePages(bytes: Buffer, headBytes: number, count: number, last_seq: number): SalvagedKeys {
  const headCrc = crcOf(bytes.subarray(0, headBytes))
  const pages: Buffer[] = []
  const gaps: KeyGap[] = []
  let gap: KeyGap | undefined
  for (let number = 0; number < pagesOf(count); number++) {
    const page = bytes.subarray(headBytes).subarray(number * PAGE_BYTES, (number + 1) * PAGE_BYTES)
    if (isWhole(page, number, headCrc)) {
      const entries = withoutPadding(page)
      if (gap !== undefined) gap.before = entries.subarray(0, ENTRY_BYTES)
      gap = undefined
      pages.push(entries)
      continue
    }
    if (gap === undefined) {
      gap = { count: 0, after: pages.at(-1)?.subarray(-ENTRY_BYTES), before: undefined }
      gaps.push(gap)
    }
    gap.count += Math.min(PAGE_ENTRIES, count - number * PAGE_ENTRIES)
  }
  return new SalvagedPages(Buffer.concat(pages), gaps, last_seq)
}

function isWhole(page: Buffer, number: number, headCrc: number): boolean {
  if (page.length !== PAGE_BYTES || Number.isNaN(headCrc)) return false
  return pageCrc(page, number, headCrc) === page.readUInt32BE(PAGE_CRC_AT)
}

/** The last page is padded with zeros. No entry is all zeros. */
function withoutPadding(page: Buffer): Buffer {
  let end = PAGE_ENTRIES * ENTRY_BYTES
  while (end > 0 && page.subarray(end - ENTRY_BYTES, end).every((byte) => byte === 0)) end -= ENTRY_BYTES
  return page.subarray(0, end)
}

/**
 * Not fsynced, so that it does not slow a turn. A crash leaves the old file and a temporary file, which recovery
 * sweeps, or the new file. The head of this module says what a power cut leaves.
 */
export function writeKeyFile(path: string, end: KeyIndexEnd, entries: Buffer): void {
  replace('keys', path, encodeKeyFile(end, entries), { durableName: false, isSynced: false })
}

function encodeKeyFile(end: KeyIndexEnd, entries: Buffer): Buffer {
  const count = entries.length / ENTRY_BYTES
  const head = frame({ keys: VERSION, ...end, count, forms: FORMS })
  const pages = Buffer.alloc(pagesOf(count) * PAGE_BYTES)
  for (let number = 0; number < pagesOf(count); number++) {
    const page = pages.subarray(number * PAGE_BYTES, (number + 1) * PAGE_BYTES)
    const first = number * PAGE_ENTRIES * ENTRY_BYTES
    entries.copy(page, 0, first, first + PAGE_ENTRIES * ENTRY_BYTES)
    page.writeUInt32BE(pageCrc(page, number, crcOf(head)), PAGE_CRC_AT)
  }
  return Buffer.concat([head, pages])
}

function endOf({ agent_id, last_seq, last_offset, log_bytes, record_crc }: JsonObject): KeyIndexEnd {
  return { agent_id, last_seq, last_offset, log_bytes, record_crc } as unknown as KeyIndexEnd
}

function crcOf(head: Buffer): number {
  return Number.parseInt(checksumOf(head.subarray(0, -1)), 16)
}

function pagesOf(count: number): number {
  return Math.ceil(count / PAGE_ENTRIES)
}

function pageCrc(page: Buffer, number: number, headCrc: number): number {
  return crc32(page.subarray(0, PAGE_CRC_AT), crc32(`page ${number}`, headCrc))
}
