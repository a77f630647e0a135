/**
 * The file `keys` of an agent: where in its log the latest run of each key begins. A cache of the log, in which a key is
 * found by its hash without reading all of it.
 *
 * A framed line, the head, then pages of 4 KiB: entries of 32 bytes in the order of their hashes, zeros, and a CRC-32 in
 * the last four bytes. An entry is the first 16 bytes of the SHA-256 of the key, then seq and offset of a record (6 bytes
 * each), then the minute of that record since 1970 (4 bytes). All numbers are big-endian.
 *
 * Invariants: the file is written whole under another name and renamed, never changed in place. It is not synced: after a
 * power cut it may be missing, empty, NUL, older, or have pages of an older file. So the head names the last record that it
 * knows of the agent's log, the size of the file follows from the head, and the CRC of a page begins with the CRC of the
 * head and the number of the page. What does not check is not used; where the log is damaged, each page counts that checks.
 */

import { crc32 } from 'node:zlib'
import type { JsonObject } from '../../format.js'
import * as io from '../../host/disk/io.js'
import { replace } from '../../host/disk/replace.js'
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

/** The last record of the log that the file knows. */
export interface KeyFileEnd {
  agent_id: string
  last_seq: number
  last_offset: number
  log_bytes: number
  /** The checksum of that record. */
  record_crc: string
}

const VERSION = 1
/** Each key is found by the hash of its NFC form, also where it was recorded in another: versions before did not know that. */
const FORMS = 'NFC'
const PAGE_BYTES = 4096
const PAGE_ENTRIES = 127
const PAGE_CRC_AT = PAGE_BYTES - 4
/** So many pages are read beside the one where a hash should be, before the search halves what is left. */
const NEAR_PROBES = 3
/** A head is shorter. */
const HEAD_BYTES_MAX = 512

export class KeyFile {
  private constructor(
    private readonly file: io.OpenFile,
    readonly end: KeyFileEnd,
    private readonly count: number,
    private readonly headBytes: number,
    private readonly headCrc: number,
    /** Whether each key is found by its NFC form; else a miss says nothing of keys that were recorded in another form. */
    readonly isByForm: boolean,
  ) {}

  /** Undefined where there is none, or its head does not check. */
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
   * Undefined where a page on the way does not check. Hashes are spread evenly, so it begins where the hash should be, and
   * mostly reads one page or two; where they are not, one for each doubling of their number.
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
   * Where it differs from what the log says: `places`, of which it has those that are kept. Undefined where a page does not
   * check.
   */
  differences(places: ReadonlyMap<string, KeyPlace>, kept: KeyRetention): KeyDifference[] | undefined {
    const entries = this.entries()
    if (entries === undefined) return undefined
    const expected = forgetOld(mergeEntries(Buffer.alloc(0), places), kept)
    return [...eachEntry(expected)].flatMap(([hash, place]) => {
      const found = findEntry(entries, Buffer.from(hash, 'hex'))
      // One of an earlier version has no key by another form than the one that was recorded, and is made again when it is used.
      const isMissed = found === undefined && this.isByForm
      return isMissed || (found !== undefined && found.seq !== place.seq) ? [{ expected: place, found }] : []
    })
  }

  /** All of them, as `KeyIndexes.write` takes them; undefined where a page does not check. */
  entries(): Buffer | undefined {
    const pages: Buffer[] = []
    for (let number = 0; number < pagesOf(this.count); number++) {
      const page = this.page(number)
      if (page === undefined) return undefined
      pages.push(page)
    }
    return Buffer.concat(pages)
  }

  /** The entries of that page; undefined where it does not check. */
  private page(number: number): Buffer | undefined {
    const from = this.headBytes + number * PAGE_BYTES
    const page = io.readRange('keys.read', this.file, from, from + PAGE_BYTES)
    if (!isWhole(page, number, this.headCrc)) return undefined
    return page.subarray(0, Math.min(PAGE_ENTRIES, this.count - number * PAGE_ENTRIES) * ENTRY_BYTES)
  }
}

interface KeyDifference {
  expected: KeyPlace
  /** Undefined where the index does not have the key. */
  found: KeyPlace | undefined
}

/** What is left of a key file. */
export class SalvagedKeys {
  constructor(
    /** Of the pages that check. */
    private readonly entries: Buffer,
    /** Pages in a row that do not. */
    private readonly gaps: KeyGap[],
    /** The last record that it knew; any, where its head does not say. */
    readonly last_seq: number,
  ) {}

  get hasGaps(): boolean {
    return this.gaps.length > 0
  }

  /** The place of each key that is left, by the hash of the key in hex. */
  places(): Generator<[hash: string, place: KeyPlace]> {
    return eachEntry(this.entries)
  }

  /** How many keys are lost in the gaps, at most, of which `known`, hashes in hex, has none. */
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
  /** So many entries are lost there, at most. */
  count: number
  /** The entries beside it, where there are some: what is lost was between them. */
  after: Buffer | undefined
  before: Buffer | undefined
}

/**
 * Page by page, whatever else is damaged: where the head does not check, but its checksum can be read, pages are held against
 * that. Nothing of the file of another agent. Reads all of it; throws where the disk does not give it.
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
  return new SalvagedKeys(Buffer.concat(pages), gaps, last_seq)
}

function isWhole(page: Buffer, number: number, headCrc: number): boolean {
  if (page.length !== PAGE_BYTES || Number.isNaN(headCrc)) return false
  return pageCrc(page, number, headCrc) === page.readUInt32BE(PAGE_CRC_AT)
}

/** The last page ends with zeros, which no entry is. */
function withoutPadding(page: Buffer): Buffer {
  let end = PAGE_ENTRIES * ENTRY_BYTES
  while (end > 0 && page.subarray(end - ENTRY_BYTES, end).every((byte) => byte === 0)) end -= ENTRY_BYTES
  return page.subarray(0, end)
}

/**
 * Not synced, so that it costs a turn no barrier. What is on disk if we die: the old file and a temp, which recovery sweeps;
 * or the new file. After a power cut: see the head of this module.
 */
export function writeKeyFile(path: string, end: KeyFileEnd, entries: Buffer): void {
  replace('keys', path, encodeKeyFile(end, entries), { durableName: false, isSynced: false })
}

function encodeKeyFile(end: KeyFileEnd, entries: Buffer): Buffer {
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

function endOf({ agent_id, last_seq, last_offset, log_bytes, record_crc }: JsonObject): KeyFileEnd {
  return { agent_id, last_seq, last_offset, log_bytes, record_crc } as unknown as KeyFileEnd
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
