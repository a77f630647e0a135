// npm run bench -- [--only start,log,…] [--rounds 25] [--records 1000000] [--agents 100000] [--peers] [--json FILE]
// [--check] [--record]
// Prints the cost of each command, compared in the same run with a bare `node -e 0`, with a minimal home, or with the
// work alone.
// `--record` writes results/bench.json and draws results/bench.svg. A missed target is an error only with --check.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ageRows } from './bench/age.js'
import { recoverRows, waitRows } from './bench/killed.js'
import { describeMachine } from './bench/machine.js'
import { modelRows } from './bench/peers.js'
import { plot } from './bench/plot.js'
import { programRows } from './bench/programs.js'
import type { Run } from './bench/run.js'
import { homeRows, logRows } from './bench/scale.js'
import { searchRows } from './bench/search.js'
import { sizeRows } from './bench/size.js'
import { startRows } from './bench/start.js'
import { print, type Row, skippedRow } from './bench/table.js'
import { appendRows, parallelRows } from './bench/together.js'
import { treeRows } from './bench/tree.js'
import { Lab } from './support/lab.js'
import { countOf, recordFile, recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '25' },
    records: { type: 'string', default: '1000000' },
    agents: { type: 'string', default: '100000' },
    peers: { type: 'boolean', default: false },
    json: { type: 'string' },
    check: { type: 'boolean', default: false },
  },
})

const PARTS: Record<string, (run: Run) => Promise<Row[]>> = {
  start: startRows,
  model: (run) => modelRows(run, values.peers),
  programs: (run) => programRows(run, values.peers),
  log: logRows,
  home: homeRows,
  age: ageRows,
  recover: recoverRows,
  wait: waitRows,
  parallel: parallelRows,
  append: appendRows,
  search: searchRows,
  size: sizeRows,
  tree: treeRows,
}

const names = values.only?.split(',') ?? Object.keys(PARTS)
const wrong = names.find((name) => !Object.hasOwn(PARTS, name))
if (wrong !== undefined) throw new Error(`--only takes some of: ${Object.keys(PARTS).join(', ')}`)

const rows: Row[] = []
let machine: Record<string, string> = {}
const points: Run['points'] = { log: [], home: [] }
for (const name of names) {
  // A separate home for each part, removed afterwards: a directory of millions of files slows the other parts.
  const lab = Lab.open()
  try {
    machine = { ...describeMachine(lab.root), ...machine }
    await lab.warm()
    console.error(`measuring: ${name}`)
    const [rounds, agents, records] = [values.rounds, values.agents, values.records].map(Number) as [
      number,
      number,
      number,
    ]
    const found = await (PARTS[name] as (run: Run) => Promise<Row[]>)({
      lab,
      rounds,
      agents,
      records,
      points,
    })
    for (const { what, measured } of found) console.error(`  ${what}: ${measured}`)
    rows.push(...found)
  } catch (error) {
    // Continue with the other parts, because each of them takes long.
    rows.push(skippedRow(name, `failed: ${(error as Error).message}`))
    process.exitCode = 1
  } finally {
    // For a million files Node alone takes twice as long.
    execFileSync('rm', ['-rf', lab.root])
    lab.close()
  }
}

print(rows)
console.log(
  `\nMedians of ${values.rounds} interleaved rounds (7 rounds for subjects that take seconds). ${Object.values(machine).join(', ')}`,
)
const { rounds, records, agents } = values
const details = { machine, rounds, records, agents, rows, points }
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(details, null, 2)}\n`)
const limited = rows.filter(({ isMet }) => isMet !== null)
recordResult({
  lab: 'bench',
  sample: `${countOf(names.length, Object.keys(PARTS).length, 'parts')}; ${agents} agents, ${records} records, ${rounds} rounds`,
  cases: limited.length,
  violations: limited.filter(({ isMet }) => isMet === false).length,
  details,
})
if (points.log.length > 0 && points.home.length > 0) {
  const { date, node, file_system, disk } = machine
  recordFile('bench.svg', plot(points.log, points.home, [date, node, `${file_system} on ${disk}`].join(', ')))
}
if (values.check && rows.some(({ isMet }) => isMet === false)) process.exitCode = 1
