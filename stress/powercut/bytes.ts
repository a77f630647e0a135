/**
 * The possible results of one unsynced change to a file's bytes. The size changes first, then the pages in any order.
 * Missing pages of a grown file read as NUL.
 */

export type DataChange = { kind: 'write'; offset: number; bytes: Buffer } | { kind: 'truncate'; size: number }

/**
 * The part that arrives on the disk:
 * - `whole`: all of it
 * - `lost`: nothing
 * - `cut`: the first half, with the size that this half needs
 * - `head`: the full size, and the first half
 * - `tail`: the full size, and the second half
 * - `holes`: the full size, and every other page
 * - `hollow`: the full size, without bytes
 */
export type DataOption = 'whole' | 'lost' | 'cut' | 'head' | 'tail' | 'holes' | 'hollow'

const PAGE_BYTES = 4096

export function optionsOf(change: DataChange, before: Buffer): DataOption[] {
  if (change.kind === 'truncate') return ['whole', 'lost']
  const { offset, bytes } = change
  if (bytes.length < 2) return ['whole', 'lost']
  const grows = offset + bytes.length > before.length
  return [
    'whole',
    'lost',
    ...(grows ? (['hollow', 'cut'] as const) : []),
    'head',
    'tail',
    ...(bytes.length > 2 * PAGE_BYTES ? (['holes'] as const) : []),
  ]
}

export function applyChange(before: Buffer, change: DataChange, option: DataOption): Buffer {
  if (option === 'lost') return before
  if (change.kind === 'truncate') return resize(before, change.size)
  const { offset, bytes } = change
  const half = Math.ceil(bytes.length / 2)
  const end = offset + (option === 'cut' ? half : bytes.length)
  const after = resize(before, Math.max(before.length, end))
  for (const [from, to] of pieces(option, offset, bytes.length, half))
    bytes.copy(after, offset + from, from, to)
  return after
}

/** The ranges of the written bytes that arrive. */
function pieces(option: DataOption, offset: number, length: number, half: number): [number, number][] {
  switch (option) {
    case 'whole':
      return [[0, length]]
    case 'cut':
    case 'head':
      return [[0, half]]
    case 'tail':
      return [[half, length]]
    case 'holes':
      return everyOtherPage(offset, length)
    default:
      return []
  }
}

function everyOtherPage(offset: number, length: number): [number, number][] {
  const pages: [number, number][] = []
  for (let page = Math.ceil(offset / PAGE_BYTES); page * PAGE_BYTES < offset + length; page += 2) {
    const from = page * PAGE_BYTES - offset
    pages.push([from, Math.min(length, from + PAGE_BYTES)])
  }
  return pages
}

/** Never returns the same buffer. */
function resize(bytes: Buffer, size: number): Buffer {
  const after = Buffer.alloc(size)
  bytes.copy(after, 0, 0, Math.min(bytes.length, size))
  return after
}
