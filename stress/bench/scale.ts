/** Times that must stay flat: commands on logs and in homes of every size. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openForRead } from '../../src/session/load.js'
import { FileStore } from '../../src/storage/file-store.js'
import { resolveAgent } from '../../src/tree/names.js'
import { homeOf, lengthenLog } from './homes.js'
import { type Subject, sampleInTurn } from './measure.js'
import { decadesTo, fewRounds, type Run } from './run.js'
import { type Row, ratio } from './table.js'

const NAME = 'a-0000000'
const OF_LOG = { atMost: 1.1, floor: '1' }
const OF_HOME = { atMost: 1.15, floor: '1' }
const OF_RAW = { atMost: 1.8, floor: '1' }

/** An agent with a log of 10 records, of 100, and so on. */
export async function logRows(run: Run): Promise<Row[]> {
  const { lab, rounds, records, points } = run
  const lengths = decadesTo(records)
  const sends: Subject[] = []
  for (const length of lengths) {
    const home = await homeOf(lab, 10)
    if (length > 10) {
      console.error(`writing a log of ${length} records`)
      lengthenLog(home, NAME, length)
      // Its snapshot is far behind: the first send folds the whole log.
      await lab.do(home, 'send', NAME, 'hello')
    }
    sends.push({ name: `${length}`, home, argv: [lab.cli, 'send', NAME, 'hello'] })
  }
  const [short, long] = [sends[0], sends.at(-1)] as [Subject, Subject]
  for (const subject of [short, long]) subject.isWeighed = true
  execFileSync('sync')
  const samples = sampleInTurn(lab, sends, rounds)
  points.log = sends.map((subject, index) => ({
    x: lengths[index] as number,
    y: samples.wallMs(subject).median,
  }))
  const what = `send on a log of ${records} records / of 10`
  return [
    ratio(`${what}: time`, samples.wallMs(long), samples.wallMs(short), 'ms', OF_LOG),
    ratio(`${what}: peak memory`, samples.peakMb(long), samples.peakMb(short), 'MB', OF_LOG),
  ]
}

/** Homes of 10 agents, of 100, and so on. Each agent has had a turn. */
export async function homeRows(run: Run): Promise<Row[]> {
  const { lab, rounds, agents, points } = run
  const sizes = decadesTo(agents)
  const homes: string[] = []
  for (const size of sizes) {
    if (size >= 10_000) console.error(`making a home of ${size} agents`)
    homes.push(await homeOf(lab, size))
  }
  // Unsynced data would slow down the measured commands.
  execFileSync('sync')
  const of = (word: string, argv: string[], among = homes): Subject[] =>
    among.map((home) => ({ name: `${word} in ${home}`, home, argv: [lab.cli, ...argv] }))
  const ends = [homes[0], homes.at(-1)] as [string, string]
  const sends = of('send', ['send', NAME, 'hello'])
  const shows = of('show', ['show', NAME], ends)
  const spawns = of('spawn', ['spawn'], ends)
  const samples = sampleInTurn(lab, [...sends, ...shows, ...spawns], rounds)
  points.home = sends.map((subject, index) => ({
    x: sizes[index] as number,
    y: samples.wallMs(subject).median,
  }))
  const flat = (word: string, subjects: Subject[]): Row => {
    const [few, many] = [subjects[0], subjects.at(-1)] as [Subject, Subject]
    const what = `${word} in a home of ${agents} agents / of 10`
    return ratio(what, samples.wallMs(many), samples.wallMs(few), 'ms', OF_HOME)
  }
  return [flat('show', shows), flat('send', sends), flat('spawn', spawns), ...listRows(run, ends[1])]
}

/** Compared with a script that only reads the same files. */
function listRows(run: Run, home: string): Row[] {
  const { lab, agents } = run
  const script = join(lab.root, 'raw.cjs')
  writeFileSync(script, RAW)
  const raw: Subject = { name: 'raw', home, argv: [script, home, String(lastOffset(home))] }
  const [list, tree] = ['list', 'tree'].map((word) => ({ name: word, home, argv: [lab.cli, word] })) as [
    Subject,
    Subject,
  ]
  const samples = sampleInTurn(lab, [raw, list, tree], fewRounds(run))
  return [list, tree].map((subject) => {
    const what = `${subject.name} of ${agents} agents / the same bytes raw`
    return ratio(what, samples.wallMs(subject), samples.wallMs(raw), 'ms', OF_RAW)
  })
}

/** All but the few whose last record was written later. */
function lastOffset(home: string): number {
  const store = FileStore.openForRead(home) as FileStore
  return openForRead(store, resolveAgent(store, 'a-0000001'))?.state.last_offset ?? 0
}

/** The files, and their bytes, that `list` reads. */
const RAW = `const fs = require('node:fs')
const [, , home, lastOffset] = process.argv
const buffer = Buffer.allocUnsafe(65536)
const read = (path, from) => {
  const fd = fs.openSync(path)
  fs.readSync(fd, buffer, 0, buffer.length, from)
  fs.closeSync(fd)
}
read(home + '/home.json', 0)
fs.readdirSync(home + '/unclean')
for (const id of fs.readdirSync(home + '/agents')) {
  const directory = home + '/agents/' + id
  read(directory + '/session.json', 0)
  read(directory + '/events.jsonl', Number(lastOffset))
}
`
