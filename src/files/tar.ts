/**
 * Archives in the ustar format (POSIX.1-1988), in memory: regular files alone. An archive from elsewhere is refused if it has
 * anything else, so reading one follows no link and writes nothing.
 */
import { SubstratError } from '../errors.js'

const BLOCK = 512
/** Two empty blocks. Other programs pad an archive to a multiple of 20 blocks. */
export const END_BYTES = 2 * BLOCK
export const PADDED_END_BYTES = END_BYTES + 20 * BLOCK
const NAME_BYTES = 100
const PREFIX_BYTES = 155
const TYPE_FILE = '0'
/** It has the path of the next entry, where that has no place in a header (POSIX.1-2001). */
const TYPE_EXTENDED = 'x'
/** Those, the same for all entries, and directories. */
const TYPES_WITHOUT_FILE = [TYPE_EXTENDED, 'g', '5']

export interface ArchivedFile {
  path: string
  bytes: Buffer
}

/** The archive in parts, one for each file. `path`: ASCII, at most 100 bytes after a slash that divides it. */
export function* tarParts(files: Iterable<ArchivedFile>): Generator<Buffer> {
  for (const { path, bytes } of files)
    yield Buffer.concat([headerOf(path, bytes.length), bytes], archivedBytes(bytes.length))
  yield Buffer.alloc(END_BYTES)
}

/** How much of an archive a file of that size takes. */
export function archivedBytes(size: number): number {
  return BLOCK + size + (-size & (BLOCK - 1))
}

/** The first file, given a part of the archive from its beginning. `size` may be larger than that part has bytes. */
export function firstFileOf(part: Buffer): (ArchivedFile & { size: number }) | undefined {
  if (part.length < BLOCK) return undefined
  const { path, size } = parsedHeader(part.subarray(0, BLOCK))
  return { path, size, bytes: part.subarray(BLOCK, BLOCK + size) }
}

/**
 * `refuse` makes the error. Throws it for anything but regular files, for a path that occurs twice, and for a damaged archive.
 * `isPackage`: other programs pack packages, also with entries for directories and long paths.
 */
export function filesOf(archive: Buffer, refuse = refused, isPackage = false): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  let at = 0
  let longPath: string | undefined
  for (;;) {
    const header = archive.subarray(at, at + BLOCK)
    if (header.length < BLOCK) throw refuse('it has no end')
    if (isZero(header)) {
      if (!isZero(archive.subarray(at))) throw refuse('it goes on after its end')
      return files
    }
    const { path: shortPath, size, type } = parsedHeader(header, refuse)
    const path = longPath ?? shortPath
    const bytes = archive.subarray(at + BLOCK, at + BLOCK + size)
    if (bytes.length < size) throw refuse(`${shown(path)} is cut short`)
    at += archivedBytes(size)
    longPath = type === TYPE_EXTENDED ? longPathIn(bytes) : undefined
    if (isPackage && TYPES_WITHOUT_FILE.includes(type)) continue
    if (type !== TYPE_FILE && type !== '\0') throw refuse(`${shown(path)} is not a regular file`)
    if (files.has(path)) throw refuse(`${shown(path)} occurs twice`)
    files.set(path, bytes)
  }
}

function longPathIn(record: Buffer): string | undefined {
  const [, path] = /^\d+ path=(.*)$/m.exec(record.toString('utf8')) ?? []
  return path
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0)
}

export function refused(why: string): SubstratError {
  return new SubstratError('USAGE', `this file is not a bundle that can be imported: ${why}`, {
    hint: 'make another one: substrat export AGENT --bundle FILE',
  })
}

/** As a JSON string, shortened: a name in an archive may have control characters. */
export function shown(path: string): string {
  return JSON.stringify(path.slice(0, 160)).replace(/[\u007f-\u{10ffff}]/gu, '?')
}

function headerOf(path: string, size: number): Buffer {
  const { prefix, name } = dividedPath(path)
  const header = Buffer.alloc(BLOCK)
  header.write(name, 0, 'latin1')
  header.write('0000600\0', 100, 'latin1')
  header.write('0000000\0', 108, 'latin1')
  header.write('0000000\0', 116, 'latin1')
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124, 'latin1')
  header.write(`${'0'.repeat(11)}\0`, 136, 'latin1')
  header.write(TYPE_FILE, 156, 'latin1')
  header.write('ustar\x0000', 257, 'latin1')
  header.write(prefix, 345, 'latin1')
  header.write(`${checksumOf(header).toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}

function dividedPath(path: string): { prefix: string; name: string } {
  if (path.length <= NAME_BYTES) return { prefix: '', name: path }
  const slash = path.lastIndexOf('/')
  return { prefix: path.slice(0, slash), name: path.slice(slash + 1) }
}

function parsedHeader(header: Buffer, refuse = refused): { path: string; size: number; type: string } {
  const text = (from: number, length: number): string => {
    const field = header.toString('latin1', from, from + length)
    const end = field.indexOf('\0')
    return end === -1 ? field : field.slice(0, end)
  }
  const checksum = Number.parseInt(text(148, 8).trim(), 8)
  if (checksum !== checksumOf(header)) throw refuse('a header of the archive is damaged')
  const octal = text(124, 12).trim()
  if (!/^[0-7]{1,11}$/.test(octal)) throw refuse('a size in the archive is not a number')
  const [name, prefix] = [text(0, NAME_BYTES), text(345, PREFIX_BYTES)]
  const path = prefix === '' ? name : `${prefix}/${name}`
  return { path, size: Number.parseInt(octal, 8), type: header.toString('latin1', 156, 157) }
}

/** The sum of the bytes, with the checksum field as spaces. */
function checksumOf(header: Buffer): number {
  let sum = 0
  for (let at = 0; at < BLOCK; at++) sum += at >= 148 && at < 156 ? 0x20 : (header[at] as number)
  return sum
}
