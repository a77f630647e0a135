/** The ways to damage the bytes of a file, and to mix up files. */
import { LF } from '../../src/storage/log/frame.js'
import type { Image } from '../machine/image.js'
import { type DamagedHome, TWINS } from './home.js'

export interface Damage {
  kind: string
  /** The file's name in this lab: the log of a, the mail of its kid. */
  file: string
  /** All files that changed. */
  files: string[]
  /** The number of the byte, line or combination. Together with kind and file it identifies the damage. */
  at: number
  /** The touched bytes within the whole file; undefined if the damage is not about bytes. */
  range: [number, number] | undefined
  make(): Image
}

export interface DamageOptions {
  /** Damages all eight bits of each byte instead of one. */
  allBits: boolean
}

const NUL_RUNS = [1, 7, 64, 512]
/** A larger file is damaged at this many bytes, not at each. */
const BYTES_MAX = 16_384

export function* damagesOf(home: DamagedHome, options: DamageOptions): Generator<Damage> {
  for (const [file, name] of home.files) {
    // The files of twins are only exchanged as a whole. Their bytes are like those of the other files.
    if (TWINS.some((twin) => file.startsWith(`agents/${twin}/`))) continue
    const bytes = home.image.entries.get(name) as Buffer
    yield* ofWhole(home, file, name, bytes)
    for (const at of placesIn(bytes)) yield* atByte(home, { file, name, bytes, at }, options)
    if (file.endsWith('.jsonl')) yield* ofLines(home, file, name, bytes)
  }
  yield* amongFiles(home)
}

interface Place {
  file: string
  name: string
  bytes: Buffer
  at: number
}

function* atByte(home: DamagedHome, place: Place, { allBits }: DamageOptions): Generator<Damage> {
  const { bytes, at } = place
  const damage = (kind: string, changed: Buffer): Damage => damageOf(home, place, kind, [at, at + 1], changed)
  const byte = bytes[at] as number
  const bits = allBits ? [0, 1, 2, 3, 4, 5, 6, 7] : [at % 8]
  for (const bit of bits) yield damage(`bit ${bit} flipped`, withByte(bytes, at, byte ^ (1 << bit)))
  if (byte !== 0) yield damage('byte set to 0', withByte(bytes, at, 0))
  yield damage('byte deleted', splice(bytes, at, at + 1))
  // The extra byte: after the last byte it is a tail that belongs to no record.
  yield { ...damage('byte doubled', splice(bytes, at, at, Buffer.of(byte))), range: [at + 1, at + 1] }
  yield { ...damage('cut off', bytes.subarray(0, at)), range: [at, bytes.length] }
}

/** The damage of one file; without `changed` the file is removed. */
function damageOf(
  home: DamagedHome,
  { file, name, at }: Pick<Place, 'file' | 'name' | 'at'>,
  kind: string,
  range: [number, number],
  changed: Buffer | undefined,
): Damage {
  return { kind, file, files: [file], at, range, make: () => home.image.with(name, changed) }
}

function* ofWhole(home: DamagedHome, file: string, name: string, bytes: Buffer): Generator<Damage> {
  const whole = (kind: string, at: number, range: [number, number], changed: Buffer | undefined): Damage =>
    damageOf(home, { file, name, at }, kind, range, changed)
  yield whole('removed', 0, [0, bytes.length], undefined)
  yield whole('a letter added', 0, [bytes.length, bytes.length], Buffer.concat([bytes, Buffer.from('x')]))
  for (const length of NUL_RUNS) {
    const run = Buffer.alloc(length)
    yield whole('NUL run at the end', length, [bytes.length, bytes.length], Buffer.concat([bytes, run]))
    if (length >= bytes.length) continue
    const from = bytes.length - length
    yield whole('end turned to NUL', length, [from, bytes.length], splice(bytes, from, bytes.length, run))
    const middle = Math.floor(from / 2)
    yield whole(
      'NUL run in the middle',
      length,
      [middle, middle + length],
      splice(bytes, middle, middle + length, run),
    )
  }
}

function* ofLines(home: DamagedHome, file: string, name: string, bytes: Buffer): Generator<Damage> {
  const starts = [0, ...indexesOf(bytes, LF).map((at) => at + 1)]
  for (const [at, from] of starts.slice(0, -1).entries()) {
    const end = starts[at + 1] as number
    const line = (kind: string, range: [number, number], changed: Buffer): Damage =>
      damageOf(home, { file, name, at }, kind, range, changed)
    yield line('line removed', [from, end], splice(bytes, from, end))
    yield line('line doubled', [end, end], splice(bytes, end, end, bytes.subarray(from, end)))
    const next = starts[at + 2]
    if (next === undefined) continue
    const swapped = Buffer.concat([bytes.subarray(end, next), bytes.subarray(from, end)])
    yield line('lines swapped', [from, next], splice(bytes, from, next, swapped))
  }
}

/** Puts files of other agents, or of an earlier time, where they do not belong. */
function* amongFiles(home: DamagedHome): Generator<Damage> {
  const { image, earlier, files } = home
  const [a, b] = ['agents/a', 'agents/b']
  const [twin, otherTwin] = TWINS.map((each) => `agents/${each}`) as [string, string]
  const bytesOf = (from: Image, file: string): Buffer => from.entries.get(nameOf(file)) as Buffer
  const nameOf = (file: string): string => files.get(file) as string
  const mixOf = (kind: string, file: string, parts: Record<string, Buffer>): Damage => ({
    kind,
    file,
    files: Object.keys(parts),
    at: 0,
    range: undefined,
    make: () => Object.entries(parts).reduce((made, [part, bytes]) => made.with(nameOf(part), bytes), image),
  })
  for (const [one, other] of [
    [a, b],
    [b, a],
    [twin, otherTwin],
  ] as const) {
    const [log, snapshot] = [`${one}/events.jsonl`, `${one}/session.json`]
    yield mixOf('log of another agent', log, { [log]: bytesOf(image, `${other}/events.jsonl`) })
    yield mixOf('snapshot of another agent', snapshot, {
      [snapshot]: bytesOf(image, `${other}/session.json`),
    })
    yield mixOf('log and snapshot of another agent', log, {
      [log]: bytesOf(image, `${other}/events.jsonl`),
      [snapshot]: bytesOf(image, `${other}/session.json`),
    })
  }
  for (const [one, other] of [
    [`${a}/events.jsonl`, `${b}/events.jsonl`],
    [`${twin}/events.jsonl`, `${otherTwin}/events.jsonl`],
  ] as const)
    yield mixOf('two logs swapped', one, { [one]: bytesOf(image, other), [other]: bytesOf(image, one) })
  const mail = 'agents/kid/inbox/id.json'
  yield mixOf('mail of another', mail, { [mail]: bytesOf(image, 'operator/inbox/id.json') })
  yield mixOf('older snapshot', `${a}/session.json`, {
    [`${a}/session.json`]: bytesOf(earlier, `${a}/session.json`),
  })
  yield mixOf('older key index', `${b}/keys`, { [`${b}/keys`]: bytesOf(earlier, `${b}/keys`) })
  yield mixOf('older log under a newer snapshot', `${a}/events.jsonl`, {
    [`${a}/events.jsonl`]: bytesOf(earlier, `${a}/events.jsonl`),
  })
}

function placesIn(bytes: Buffer): number[] {
  const step = Math.max(1, Math.floor(bytes.length / BYTES_MAX) * 97)
  return Array.from({ length: Math.ceil(bytes.length / step) }, (_, index) => index * step)
}

function withByte(bytes: Buffer, at: number, byte: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[at] = byte
  return changed
}

function splice(bytes: Buffer, from: number, to: number, between: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([bytes.subarray(0, from), between, bytes.subarray(to)])
}

function indexesOf(bytes: Buffer, value: number): number[] {
  const found: number[] = []
  for (let at = bytes.indexOf(value); at !== -1; at = bytes.indexOf(value, at + 1)) found.push(at)
  return found
}
