/** Several commands at once, and many records by one process. */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { openForAppend } from '../../src/session/session.js'
import { FileStore } from '../../src/storage/file-store.js'
import { resolveAgent } from '../../src/tree/names.js'
import { homeOf } from './homes.js'
import { medianAndLeast } from './measure.js'
import { fewRounds, type Run } from './run.js'
import { type Row, ratio, row } from './table.js'

const SENDERS = 8
const PARALLEL = { atMost: 0.6, floor: '0.5' }
const APPEND = { atLeast: 0.9, floor: '1' }
/** Alternates records with the same number of plain writes. */
const [CHUNKS, CHUNK] = [20, 25]

export async function parallelRows(run: Run): Promise<Row[]> {
  const { lab } = run
  const home = await homeOf(lab, SENDERS)
  const names = Array.from({ length: SENDERS }, (_, index) => `a-000000${index}`)
  const send = (name: string): Promise<string> => lab.do(home, 'send', name, 'hello')
  const times = { together: [] as number[], inTurn: [] as number[] }
  for (let round = -1; round < fewRounds(run); round++) {
    const inTurn = await timeOf(async () => {
      for (const name of names) await send(name)
    })
    const together = await timeOf(() => Promise.all(names.map(send)))
    if (round < 0) continue
    times.inTurn.push(inTurn)
    times.together.push(together)
  }
  const what = `${SENDERS} parallel sends to ${SENDERS} agents / in a row`
  return [ratio(what, medianAndLeast(times.together), medianAndLeast(times.inTurn), 'ms', PARALLEL)]
}

/** Writes the same bytes, each followed by a sync: as records of a session, and as plain writes. */
export async function appendRows({ lab }: Run): Promise<Row[]> {
  const home = await homeOf(lab, 1)
  const store = FileStore.openForWrite(home)
  const id = resolveAgent(store, 'a-0000000')
  const session = await openForAppend(store, id, { command: 'bench', waitMs: 0 })
  const raw = openSync(join(lab.root, 'raw-log'), 'wx')
  const shares: number[] = []
  let [appendMs, rawMs] = [0, 0]
  for (let chunk = -1; chunk < CHUNKS; chunk++) {
    const before = session.state.log_bytes
    const a = timedNow(() => {
      session.append([{ kind: 'session.configured', title: `what is open, and what is done: ${chunk}` }])
    })
    const line = Buffer.alloc(Math.round((session.state.log_bytes - before) / CHUNK), 'x')
    const b = timedNow(() => {
      writeSync(raw, line)
      fdatasyncSync(raw)
    })
    if (chunk < 0) continue
    shares.push(b / a)
    appendMs += a
    rawMs += b
  }
  closeSync(raw)
  await session.close(() => false)
  const share = medianAndLeast(shares).median
  const perSecond = (ms: number): string => ((1000 * CHUNKS * CHUNK) / ms).toFixed(0)
  const said = `${share.toFixed(2)}x its rate (${perSecond(appendMs)} : ${perSecond(rawMs)} a second)`
  return [row('append of records in one process / raw write and fdatasync', share, said, APPEND)]
}

async function timeOf(act: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await act()
  return performance.now() - begin
}

function timedNow(act: () => void): number {
  const begin = performance.now()
  for (let index = 0; index < CHUNK; index++) act()
  return performance.now() - begin
}
