/** Costs that must not grow with the age of an agent: a turn a minute for 30 days, each with its own key. */
import { execFileSync } from 'node:child_process'
import { rmSync, statSync } from 'node:fs'
import { loadFrom } from '../../src/session/load.js'
import { FileStore } from '../../src/storage/file-store.js'
import { HomePaths } from '../../src/storage/paths.js'
import type { LogReader } from '../../src/storage/store.js'
import { resolveAgent } from '../../src/tree/names.js'
import { homeOf, lengthenLog, MESSAGE } from './homes.js'
import { medianAndLeast, type Subject, sampleInTurn } from './measure.js'
import { fewRounds, type Run } from './run.js'
import { type Measured, type Row, ratio, row } from './table.js'

const NAME = 'a-0000000'
const TURNS = 30 * 24 * 60
const FRESH_TURNS = 10
const OF_FRESH = { atMost: 1.1, floor: '1' }
const OF_UNKEYED = { atMost: 1.2, floor: '1' }
const SNAPSHOT_KB_MAX = 64

export async function ageRows(run: Run): Promise<Row[]> {
  const { lab, rounds } = run
  const aged = await agedHome(run, TURNS, true)
  const unkeyed = await agedHome(run, TURNS, false)
  const fresh = await agedHome(run, FRESH_TURNS, true)
  await learn(run, aged)
  execFileSync('sync')
  const sends = [fresh, aged].map(sendTo) as [Subject, Subject]
  const again = { name: 'again', home: aged, argv: [lab.cli, 'send', NAME, '--key', 'minute 5', MESSAGE] }
  const turns = sampleInTurn(lab, [...sends, again], rounds)
  const what = `an agent of ${TURNS} keyed turns`
  const snapshot = snapshotRow(what, aged)
  // From here on the snapshots are missing.
  const cold = ['show', 'list'].map((word) => [
    afterLoss(`${word} keyed`, aged, [lab.cli, word, ...(word === 'show' ? [NAME] : [])]),
    afterLoss(`${word} unkeyed`, unkeyed, [lab.cli, word, ...(word === 'show' ? [NAME] : [])]),
  ]) as [Subject, Subject][]
  const looks = sampleInTurn(lab, cold.flat(), fewRounds(run))
  return [
    ratio(
      `send --key to ${what} / of ${FRESH_TURNS}`,
      turns.wallMs(sends[1]),
      turns.wallMs(sends[0]),
      'ms',
      OF_FRESH,
    ),
    ratio(
      `the oldest key again, sent to ${what} / a new one`,
      turns.wallMs(again),
      turns.wallMs(sends[1]),
      'ms',
    ),
    snapshot,
    foldRow(what, aged, unkeyed, fewRounds(run)),
    ...cold.map(([keyed, plain]) =>
      ratio(
        `${keyed.name.split(' ')[0]} of ${what}, its snapshot gone / without keys`,
        looks.wallMs(keyed),
        looks.wallMs(plain),
        'ms',
        OF_UNKEYED,
      ),
    ),
  ]

  function sendTo(home: string): Subject {
    const argv = [lab.cli, 'send', NAME, '--key', '', MESSAGE]
    let count = 0
    const prepare = (): void => {
      count += 1
      argv[4] = `measured ${count}`
    }
    return { name: `send in ${home}`, home, argv, prepare }
  }
}

async function agedHome({ lab }: Run, turns: number, hasKeys: boolean): Promise<string> {
  const home = await homeOf(lab, 1)
  console.error(`writing ${turns} turns ${hasKeys ? 'with' : 'without'} keys`)
  lengthenLog(home, NAME, turns * RECORDS_OF_TURN, hasKeys ? (turn) => `minute ${turn}` : undefined)
  // The first send folds the whole log and writes the index.
  await lab.do(home, 'send', NAME, ...(hasKeys ? ['--key', 'first'] : []), 'hello')
  return home
}

const RECORDS_OF_TURN = 8

/** The compile cache is renewed once a day. By then it includes the code that runs only for an agent of some age. */
async function learn({ lab }: Run, home: string): Promise<void> {
  lab.ageCode()
  await lab.do(home, 'send', NAME, '--key', 'second', 'hello')
}

/** The cost of a reader when no writer has come since. */
function afterLoss(name: string, home: string, argv: string[]): Subject {
  return { name, home, argv, prepare: () => rmSync(agentIn(home).paths.snapshot, { force: true }) }
}

function agentIn(home: string): { store: FileStore; id: string; paths: ReturnType<HomePaths['agent']> } {
  const store = FileStore.openForRead(home) as FileStore
  const id = resolveAgent(store, NAME)
  return { store, id, paths: new HomePaths(home).agent(id) }
}

function snapshotRow(what: string, home: string): Row {
  const { size } = statSync(agentIn(home).paths.snapshot)
  const target = { atMost: SNAPSHOT_KB_MAX }
  return row(`snapshot of ${what}, in KB`, size / 1024, `${Math.round(size / 1024)} KB`, target, size / 1024)
}

/** CPU time of this process; the two alternate. */
function foldRow(what: string, keyed: string, unkeyed: string, rounds: number): Row {
  const taken: [number[], number[]] = [[], []]
  for (let round = -1; round < rounds; round++) {
    for (const [index, home] of [keyed, unkeyed].entries()) {
      const ms = foldMs(home)
      if (round >= 0) taken[index as 0 | 1].push(ms)
    }
  }
  const [a, b] = taken.map(medianAndLeast) as [Measured, Measured]
  return ratio(`fold of the whole log of ${what} / without keys, CPU time`, a, b, 'ms', OF_UNKEYED)
}

function foldMs(home: string): number {
  const { store, id } = agentIn(home)
  const log = store.openLog(id) as LogReader & { close(): void }
  const begin = process.cpuUsage()
  loadFrom(log, undefined)
  const { user, system } = process.cpuUsage(begin)
  log.close()
  return (user + system) / 1000
}
