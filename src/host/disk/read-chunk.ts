/** Reads the files of a chunk of directories for a `ReadAhead`, on either of its threads. */
import { constants, openSync, readSync } from 'node:fs'
import { closeFile } from '../../start/close-file.js'
import { CHUNK_ENTRIES, type Entry, type SharedMemory, type Slot } from './read-ahead-chunks.js'

export interface ReadAheadJob {
  /** The directory of the directories. */
  directory: string
  /** Their names, each of that length, one after the other. */
  names: string
  nameLength: number
  /** The file that is read whole, and the one that is read from an offset. */
  files: [string, string]
  /** The text before that offset in the first file. A wrong offset does no harm: the caller compares it. */
  mark: string
  memory: SharedMemory
}

// As for any file of the home: O_NOFOLLOW refuses a symlink, and O_NONBLOCK keeps a FIFO from hanging the command.
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const [ZERO, NINE] = [0x30, 0x39]

export function readChunk(job: ReadAheadJob, chunk: number, slot: Slot): void {
  const { names, nameLength } = job
  const first = chunk * CHUNK_ENTRIES
  const count = Math.min(CHUNK_ENTRIES, names.length / nameLength - first)
  let at = slot.start
  for (let index = 0; index < count; index++) {
    const name = names.slice((first + index) * nameLength, (first + index + 1) * nameLength)
    const entry = readEntry(job, name, slot, at)
    slot.set(index, entry)
    at = entry.tailEnd
  }
}

function readEntry({ directory, files, mark }: ReadAheadJob, name: string, slot: Slot, start: number): Entry {
  const path = `${directory}/${name}/`
  const end = read(path + files[0], 0, slot, start)
  const from = offsetAfter(mark, slot.bytes, start, end)
  const tailEnd = from === undefined ? end : read(path + files[1], from, slot, end)
  return { start, end, from: from ?? 0, tailStart: end, tailEnd }
}

/** Where the read ended: at `start` if the file is missing, unreadable or too large. */
function read(path: string, from: number, { bytes, end }: Slot, start: number): number {
  let fd: number | undefined
  try {
    fd = openSync(path, FLAGS)
    const count = readSync(fd, bytes, start, end - start, from)
    return start + count === end ? start : start + count
  } catch {
    return start
  } finally {
    if (fd !== undefined) closeFile(fd)
  }
}

function offsetAfter(mark: string, bytes: Buffer, start: number, end: number): number | undefined {
  const found = start === end ? -1 : bytes.subarray(start, end).indexOf(mark, 0, 'latin1')
  if (found < 0) return undefined
  let offset = 0
  for (let at = start + found + mark.length; at < end; at++) {
    const byte = bytes[at] as number
    if (byte < ZERO || byte > NINE) return offset
    offset = offset * 10 + byte - ZERO
  }
  return undefined
}
