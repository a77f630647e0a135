/** Checks that the report of a damaged log names the right place. */
import { LF } from '../../src/storage/log/frame.js'
import type { LabEnded } from '../machine/lab.js'
import type { Damage } from './damages.js'
import type { DamagedHome } from './home.js'

export interface Batch {
  offset: number
  end: number
  first: number
  last: number
}

export function batchesIn(log: Buffer): Batch[] {
  const batches: Batch[] = []
  let offset = 0
  for (let end = log.indexOf(LF); end !== -1; end = log.indexOf(LF, offset)) {
    const { batch } = JSON.parse(log.toString('utf8', offset, end)) as { batch: [number, number] }
    const [first, last] = batch
    const open = batches.at(-1)
    if (open?.first === first) open.end = end + 1
    else batches.push({ offset, end: end + 1, first, last })
    offset = end + 1
  }
  return batches
}

/** Undefined if the place is right, or there is none to name. Otherwise the place that should have been named. */
export function whatIsNamed(
  { range }: Damage,
  { stdout, stderr }: LabEnded,
  _home: DamagedHome,
  batches: Batch[] | undefined,
): string | undefined {
  if (batches === undefined || range === undefined) return undefined
  const said = `${stdout}\n${stderr}`
  // If the log is shorter than its snapshot says, the records after its end are missing.
  if (/ends at byte \d+, but its snapshot covers \d+ records|is missing/.test(said)) return undefined
  const [, byte, record] = /byte (\d+), record (\d+)/.exec(said) ?? []
  // A lost or doubled line displaces the lines after it.
  const [from, to] = [range[0] - 1, Math.max(range[1], range[0] + 1)]
  const touched = batches.filter(({ offset, end }) => offset < to + 1 && from < end)
  const [offset, seq] = [Number(byte), Number(record)]
  const isRight = touched.some(
    (batch) => offset >= batch.offset && offset <= batch.end && seq >= batch.first && seq <= batch.last + 1,
  )
  return isRight
    ? undefined
    : `the place: ${touched.map(({ offset: at, first }) => `byte ${at}, record ${first}`)}`
}
