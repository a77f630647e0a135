// npm run bench -- [--only turns,model,tree] [--rounds 25] [--records 1000000] [--agents 20000] [--json FILE] [--check]
// Prints what a command costs beside a bare `node -e 0` in the same run. Exits 0 also where a target is missed, unless
// --check is given.
import { execFileSync } from 'node:child_process'
import { statfsSync, writeFileSync } from 'node:fs'
import { cpus, release, tmpdir, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { addAgents, lengthenLog } from './bench/homes.js'
import { countSyncs, median, type Sample, type Subject, sampleInTurn } from './bench/measure.js'
import { treeTimes } from './bench/tree.js'
import { Lab } from './support/lab.js'
import { LoopbackModel, providerFlags } from './support/model.js'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'turns,model,tree' },
    rounds: { type: 'string', default: '25' },
    records: { type: 'string', default: '1000000' },
    agents: { type: 'string', default: '20000' },
    json: { type: 'string' },
    check: { type: 'boolean', default: false },
  },
})
const [rounds, records, agents] = [values.rounds, values.records, values.agents].map(Number) as [
  number,
  number,
  number,
]

interface Row {
  what: string
  measured: string
  value: number | null
  /** Null where it is only told. */
  target: number | null
  isMet: boolean | null
}

/** Of the loopback model: more than are asked for, each given at once. */
const ANSWERS = 1000

const PARTS: Record<string, () => Promise<Row[]>> = {
  turns,
  model: async () => [await throughModel()],
  tree,
}

const lab = Lab.open()
try {
  await lab.warm()
  const rows: Row[] = []
  for (const name of values.only.split(',')) {
    const part = PARTS[name]
    if (part === undefined) throw new Error(`--only takes some of: ${Object.keys(PARTS).join(', ')}`)
    rows.push(...(await part()))
  }
  report(rows)
} finally {
  lab.close()
}

async function turns(): Promise<Row[]> {
  const subjects = await prepare()
  const { node, show, send, sendLong, sendMany } = subjects
  const samples = sampleInTurn(lab, Object.values(subjects), rounds)
  const wall = (subject: Subject): number => medianOf(samples, subject, 'wallMs')
  const peak = (subject: Subject): number => medianOf(samples, subject, 'peakKb')
  const toMb = (kb: number): number => kb / 1024
  const syncs = countSyncs(lab, send)
  return [
    ratio('show: wall, to node -e 0', wall(show), wall(node), 'ms', 3.2),
    ratio('send: wall, to node -e 0', wall(send), wall(node), 'ms', 3.8),
    ratio('show: peak memory, to node -e 0', toMb(peak(show)), toMb(peak(node)), 'MB', 1.8),
    ratio('send: peak memory, to node -e 0', toMb(peak(send)), toMb(peak(node)), 'MB', 1.8),
    row('send: calls that sync', syncs, syncs === undefined ? 'not counted: no strace' : String(syncs), 4),
    ratio(`send: ${records} records, to 10`, wall(sendLong), wall(send), 'ms', 1.2),
    ratio(`send: home of ${agents} agents, to 10`, wall(sendMany), wall(send), 'ms', 1.2),
  ]
}

async function tree(): Promise<Row[]> {
  const { toNode, toTen, drained } = await treeTimes(lab, rounds, agents)
  const { messages, agents: taking, seconds, syncsPerSecond } = drained
  const rate = messages / seconds
  const drain = `${rate.toFixed(0)}/s in ${seconds.toFixed(1)} s (disk: ${syncsPerSecond.toFixed(0)} syncs/s)`
  return [
    ...toNode.map(({ what, ms, nodeMs }) => ratio(`tree of 200, ${what}: to node`, ms, nodeMs, 'ms', null)),
    row(`deliver --all: ${messages} messages, ${taking} agents`, rate, drain, null),
    ...toTen.map(({ what, ms, tenMs }) => ratio(`tree of ${agents}, ${what}: to 10`, ms, tenMs, 'ms', 1.2)),
  ]
}

function ratio(what: string, a: number, b: number, unit: string, target: number | null): Row {
  return row(what, a / b, `${(a / b).toFixed(2)}x (${a.toFixed(0)} : ${b.toFixed(0)} ${unit})`, target)
}

/** In a lab of its own: the linked plugin would be on the start-up path of the others. */
async function throughModel(): Promise<Row> {
  const its = Lab.open()
  const model = await LoopbackModel.start(its, { responses: new Array(ANSWERS).fill({ text: 'hello' }) })
  try {
    await its.warm()
    const home = its.newHome()
    await its.do(home, 'spawn', '--name', 'a', ...(await providerFlags(its, home, 'openai', model.url)))
    for (const _ of [1, 2]) await its.do(home, 'send', 'a', 'hello')
    const node = { name: 'node', home, argv: ['-e', '0'] }
    const send = { name: 'send', home, argv: [its.cli, 'send', 'a', 'hello'] }
    const samples = sampleInTurn(its, [node, send], rounds)
    const [a, b] = [medianOf(samples, send, 'wallMs'), medianOf(samples, node, 'wallMs')]
    const measured = `${(a / b).toFixed(2)}x (${a.toFixed(0)} : ${b.toFixed(0)} ms)`
    return row('send: through provider-openai, to node', a / b, measured, 5)
  } finally {
    model.stop()
    its.close()
  }
}

async function prepare(): Promise<Record<'node' | 'show' | 'send' | 'sendLong' | 'sendMany', Subject>> {
  const small = await homeOfTen()
  const long = await homeOfTen()
  console.error(`writing a log of ${lengthenLog(long, 'a', records)} records`)
  await lab.do(long, 'send', 'a', 'hello')
  const many = await homeOfTen()
  console.error(`making a home of ${agents} agents`)
  addAgents(many, agents - 10, lab.workspace)
  // What was written without syncs would slow down those that are measured.
  execFileSync('sync')
  const send = [lab.cli, 'send', 'a', 'hello']
  return {
    node: { name: 'node', home: small, argv: ['-e', '0'] },
    show: { name: 'show', home: small, argv: [lab.cli, 'show', 'a'] },
    send: { name: 'send', home: small, argv: send },
    sendLong: { name: 'sendLong', home: long, argv: send },
    sendMany: { name: 'sendMany', home: many, argv: send },
  }
}

/** Ten agents, the one that is asked with a first turn behind it. */
async function homeOfTen(): Promise<string> {
  const home = lab.newHome()
  await lab.do(home, 'spawn', '--name', 'a')
  await lab.do(home, 'send', 'a', 'hello')
  addAgents(home, 9, lab.workspace)
  return home
}

function medianOf(samples: Map<string, Sample[]>, { name }: Subject, of: keyof Sample): number {
  return median((samples.get(name) ?? []).map((sample) => sample[of]))
}

function row(what: string, value: number | undefined, measured: string, target: number | null): Row {
  const isMet = value === undefined || target === null ? null : value <= target
  return { what, measured, value: value ?? null, target, isMet }
}

function report(rows: Row[]): void {
  const machine = describeMachine()
  const widths = [52, 36, 8]
  const line = (...cells: string[]): string =>
    cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')
  console.log(line('what', 'measured', 'target', 'met'))
  for (const { what, measured, target, isMet } of rows)
    console.log(
      target === null
        ? line(what, measured)
        : line(what, measured, `<= ${target}`, isMet === null ? 'unknown' : isMet ? 'yes' : 'NO'),
    )
  console.log(`\nmedians of ${rounds} interleaved rounds. ${Object.values(machine).join(', ')}`)
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ machine, rounds, rows }, null, 2)}\n`)
  if (values.check && rows.some(({ isMet }) => isMet === false)) process.exitCode = 1
}

function describeMachine(): Record<string, string> {
  const [cpu] = cpus()
  return {
    node: `node ${process.version} ${process.arch}`,
    system: `${process.platform} ${release()}`,
    cpu: `${cpus().length} x ${cpu?.model.trim()}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
    file_system: fileSystemOf(tmpdir()),
  }
}

function fileSystemOf(path: string): string {
  try {
    return execFileSync('stat', ['-f', '-c', '%T', path], { encoding: 'utf8' }).trim()
  } catch {
    return `file system ${statfsSync(path).type.toString(16)}`
  }
}
