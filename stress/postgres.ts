// node stress/run.mjs postgres [--rounds 25] [--agents 10000] [--records 500000] [--seconds 10] [--record]
// Measures a home in PostgreSQL beside the same home in files, in one run. `--record` writes results/postgres.json and
// docs/images/postgres-hosts.svg.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { FileStore } from '../src/storage/file-store.js'
import { HomePaths } from '../src/storage/paths.js'
import { Postgres, whyNoPostgres } from '../test/support/postgres.js'
import { homeOf, lengthenLog } from './bench/homes.js'
import { describeMachine } from './bench/machine.js'
import { type Subject, sampleInTurn } from './bench/measure.js'
import { print, type Row, ratio, row } from './bench/table.js'
import { takeoverMs, turnsPerSecond } from './postgres/hosts.js'
import { hostsPlot } from './postgres/plot.js'
import { Lab } from './support/lab.js'
import { recordImage, recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '25' },
    agents: { type: 'string', default: '10000' },
    records: { type: 'string', default: '500000' },
    seconds: { type: 'string', default: '10' },
  },
})
const rounds = Number(values.rounds)
const agents = Number(values.agents)
const records = Number(values.records)
const seconds = Number(values.seconds)
const NAME = 'a-0000000'

const why = whyNoPostgres()
if (why !== undefined) {
  console.log(`skipped: ${why}`)
  process.exit(0)
}
const lab = Lab.open()
const server = new Postgres({ isDurable: true, hasTls: true })
process.once('exit', () => {
  server.remove()
  lab.close()
})
const rows: Row[] = []
const add = (...more: Row[]): void => {
  for (const { what, measured } of more) console.error(`  ${what}: ${measured}`)
  rows.push(...more)
}
const machine = describeMachine(lab.root)
await lab.warm()

/** `node -e 0` beside a command in files, on the socket, and with TLS. */
const small = await homeOf(lab, 10)
const smallDatabase = await copied(small)
const bare: Subject = { name: 'bare', home: small, argv: ['-e', '0'] }
const inFiles = (words: string[], home: string): Subject => ({
  name: `${words} ${home}`,
  home,
  argv: [lab.cli, ...words],
})
const inDatabase = (words: string[], database: string, url = server.url(database)): Subject => ({
  name: `${words} ${url}`,
  home: url,
  argv: [lab.cli, ...words],
  env: { ...server.environment(database), SUBSTRAT_HOME: url },
})
const send = ['send', NAME, 'hello']
const cold = [
  bare,
  inFiles(send, small),
  inDatabase(send, smallDatabase),
  inDatabase(send, smallDatabase, server.tlsUrl(smallDatabase)),
  inFiles(['show', NAME], small),
  inDatabase(['show', NAME], smallDatabase),
] as const
const samples = sampleInTurn(lab, [...cold], rounds)
const of = (subject: Subject) => samples.wallMs(subject)
add(
  ratio('send, in files / node -e 0', of(cold[1]), of(bare), 'ms'),
  ratio('send, on the socket / node -e 0', of(cold[2]), of(bare), 'ms', { atMost: 4 }),
  ratio('send, with TLS / node -e 0', of(cold[3]), of(bare), 'ms', { atMost: 5.5 }),
  ratio('show, in files / node -e 0', of(cold[4]), of(bare), 'ms'),
  ratio('show, on the socket / node -e 0', of(cold[5]), of(bare), 'ms'),
)

console.error(`making a home of ${agents} agents`)
const large = await homeOf(lab, agents)
const largeDatabase = await copied(large)
for (const words of [['list'], ['show', NAME]]) {
  const [theirs, ours] = [inFiles(words, large), inDatabase(words, largeDatabase)] as const
  const taken = sampleInTurn(lab, [theirs, ours], 7)
  const what = `${words[0]} among ${agents} agents, on the socket / in files`
  add(ratio(what, taken.wallMs(ours), taken.wallMs(theirs), 'ms', { atMost: 2 }))
}

console.error(`writing a log of ${records} records`)
const long = await homeOf(lab, 1)
lengthenLog(long, NAME, records)
await lab.do(long, 'send', NAME, 'hello')
const longDatabase = await copied(long)
const megabytes = (await server.query(longDatabase, 'select log_bytes from substrat.agent'))[0]?.log_bytes
for (const words of [send, ['show', NAME], ['log', NAME, '--last', '1']]) {
  const [theirs, ours, short] = [
    inFiles(words, long),
    inDatabase(words, longDatabase),
    inDatabase(words, smallDatabase),
  ] as const
  const taken = sampleInTurn(lab, [theirs, ours, short], 7)
  const what = `${words[0]}, log of ${Math.round(Number(megabytes) / 1e6)} MB`
  add(
    ratio(`${what}, on the socket / in files`, taken.wallMs(ours), taken.wallMs(theirs), 'ms'),
    ratio(`${what} / of 10 records, on the socket`, taken.wallMs(ours), taken.wallMs(short), 'ms'),
  )
}

const TTL_MS = 4000
const takeover = await takeoverMs(server, await server.newHome(), TTL_MS)
add(
  row(
    'takeover from a killed holder on another host, after the last renewal',
    takeover / 1000,
    `${(takeover / 1000).toFixed(2)} s, lease of ${TTL_MS / 1000} s`,
    { atMost: TTL_MS / 1000 + 1 },
  ),
)

const points: { x: number; y: number }[] = []
for (const hosts of [1, 2, 4, 8]) {
  const y = await turnsPerSecond(server, await server.newHome(), hosts, seconds)
  points.push({ x: hosts, y })
  add(row(`turns a second, ${hosts} hosts`, y, y.toFixed(1)))
}

print(rows)
console.log(
  `\nMedians of ${rounds} interleaved rounds (7 on large homes). ${Object.values(machine).join(', ')}`,
)
const limited = rows.filter(({ isMet }) => isMet !== null)
recordResult({
  lab: 'postgres',
  sample: `${agents} agents, ${rounds} rounds`,
  cases: limited.length,
  violations: limited.filter(({ isMet }) => isMet === false).length,
  details: { machine, rows, points },
})
recordImage('postgres-hosts.svg', hostsPlot(points, [machine.date, machine.node, machine.cpu].join(', ')))
process.exit(0)

/** A database with the same bytes as the home in files. Returns its name. */
async function copied(home: string): Promise<string> {
  const database = await server.newHome()
  const [store, paths] = [FileStore.openForRead(home) as FileStore, new HomePaths(home)]
  const client = await server.connect(database)
  await client.query('begin')
  for (const id of store.agentIds()) {
    const agent = paths.agent(id)
    const [log, snapshot] = [readFileSync(agent.log), readFileSync(agent.snapshot)]
    const facts = JSON.parse(snapshot.toString()) as { log_bytes: number; last_offset: number; name: string }
    const ends = [facts.log_bytes, facts.last_offset]
    await client.query(
      'insert into substrat.agent values ($1, $2, $3, $4, $5, null, null, null, gen_random_uuid())',
      [id, log.length, snapshot, ...ends],
    )
    const each = 1 << 20
    for (let from = 0; from < log.length; from += each)
      await client.query(
        'insert into substrat.batch values ($1, $2, gen_random_uuid(), gen_random_uuid(), now(), $3)',
        [id, from, log.subarray(from, from + each)],
      )
    await client.query(
      "insert into substrat.name values ('00000000-0000-0000-0000-000000000000', $2, $2, $1)",
      [id, facts.name],
    )
  }
  await client.query('update substrat.home set has_all_marks = true')
  await client.query('commit')
  await client.query('vacuum analyze')
  await client.end()
  return database
}
