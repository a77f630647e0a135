// npm run stress:hosts -- [--seed 1] [--minutes 5] [--hosts 3] [--agents 4] [--lease 3] [--canary] [--keep]
// Hosts in network namespaces use the agents of one home in PostgreSQL, while networks are cut, holders stop and die, hosts die
// and the server crashes. Exits 1 if a promise is broken. With --canary tools outlive their lease and other hosts continue
// beside them, and the lab runs until it sees two tools at once.
import { parseArgs } from 'node:util'
import { Random } from '../test/support/random.js'
import { Beats } from './hosts/beats.js'
import { Host } from './hosts/host.js'
import { answeredOnce, Growth, isSound, onlyOneWriter } from './hosts/judge.js'
import { Network, whyNoNetwork } from './hosts/network.js'
import { FAULTS, Storm, type Weather } from './hosts/storm.js'
import { brokenSources } from './mutants/canaries.js'
import type { Sources } from './mutants/code.js'
import { Databases, skipWithoutPostgres } from './support/databases.js'
import { HomeView } from './support/home-view.js'
import { Lab } from './support/lab.js'
import { recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    minutes: { type: 'string', default: '5' },
    hosts: { type: 'string', default: '3' },
    agents: { type: 'string', default: '4' },
    /** The time of a lease, in seconds. */
    lease: { type: 'string', default: '3' },
    canary: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})
/** Another host relies on the timer as soon as the margin is over. */
const BROKEN = ['the timer of a leash does not end the program']
const SHELLS = 2
const GROWTH_MS = 2000

skipWithoutPostgres()
const why = whyNoNetwork()
if (why !== undefined) {
  console.log(`skipped: ${why}`)
  process.exit(0)
}
const random = new Random(Number(values.seed))
const leaseMs = Number(values.lease) * 1000
const lab = Lab.open(values.canary ? broken() : undefined)
const network = new Network()
const { address, clients } = network
const databases = new Databases(lab, { hasTls: true, address, clients })
const hosts: Host[] = []
try {
  await lab.warm()
  const violations = await tryOut()
  if (values.canary) {
    console.log(`${violations.length > 0 ? 'caught' : 'NOT CAUGHT'}: ${BROKEN.join(', and ')}`)
    process.exitCode = violations.length > 0 ? 0 : 1
  } else if (violations.length > 0) process.exitCode = 1
} finally {
  for (const host of hosts) await host.close()
  databases.close()
  network.close()
  if (values.keep) console.log(`kept: ${lab.root}`)
  else lab.close()
}
process.exit()

async function tryOut(): Promise<string[]> {
  const { server } = databases
  const database = await server.newHome()
  const [home, beats] = [server.url(database), new Beats(`${lab.root}/beats`)]
  const agents = Array.from({ length: Number(values.agents) }, (_, n) => `agent${n}`)
  const environment = {
    SUBSTRAT_HOME: server.tlsUrl(database, { by: address }),
    SUBSTRAT_LEASE_MS: String(leaseMs),
    SUBSTRAT_RETRY_DELAYS: '10ms,20ms,40ms',
    SUBSTRAT_RECOVERY_UNKNOWN_TOOL: 'continue',
    SUBSTRAT_WORKSPACE_SCOPE: 'any',
  }
  for (let n = 0; n < Number(values.hosts); n++) {
    const host = new Host(lab, network, n, environment)
    hosts.push(host)
    await host.boot()
  }
  const [first] = hosts as [Host]
  for (const [n, agent] of agents.entries()) {
    // Every second tool outlives the lease of a holder that stops at its beginning, unless the leash kills it. For the
    // canary they do so by far: another host needs time to start the next one.
    const leases = values.canary ? 4 : n % 2 === 0 ? random.between(0.1, 0.5) : 1.5
    const command = beats.command(agent, (leases * leaseMs) / 1000)
    const spawned = await first.run([
      'spawn',
      '--name',
      agent,
      '--provider',
      'exec',
      '--option',
      `command=${command}`,
    ])
    if (spawned.code !== 0) throw new Error(`spawn exited ${spawned.code}: ${spawned.stderr}`)
  }
  const isOver = (): boolean => values.canary && !isEmpty(beats.overlaps(agents))
  const faults: Weather['faults'] = values.canary ? { 'a holder stops': 1 } : FAULTS
  const weather = { seconds: Number(values.minutes) * 60, leaseMs, agents, shells: SHELLS, faults, isOver }
  const storm = new Storm(random, hosts, network, databases, weather, (text) => console.error(text))
  const growth = new Growth()
  const watch = setInterval(() => growth.look(home), GROWTH_MS)
  await storm.rage()
  clearInterval(watch)
  if (values.canary) return [...beats.overlaps(agents)]
  await storm.calm()
  await first.run(['recover', '--all', '--continue', 'all'])
  growth.look(home)
  const violations = [
    ...storm.unexpected,
    ...growth.broken,
    ...isSound(home),
    ...answeredOnce(HomeView.read(home), storm.messages),
    ...(await onlyOneWriter(server, database)),
    ...beats.overlaps(agents),
  ]
  report(storm, beats.count(agents), violations)
  return violations
}

function broken(): Sources {
  return new Map(BROKEN.flatMap((name) => [...brokenSources({ name })]))
}

function isEmpty(texts: Iterable<string>): boolean {
  for (const _ of texts) return false
  return true
}

function report({ messages, faults, exits }: Storm, tools: number, violations: string[]): void {
  const attempts = messages.reduce((sum, { told }) => sum + told.length, 0)
  console.log(`seed ${values.seed}: ${messages.length} messages in ${attempts} commands, ${tools} tools`)
  for (const [fault, count] of Object.entries(faults)) console.log(`  ${fault}: ${count}`)
  for (const [status, count] of Object.entries(exits)) console.log(`  exit ${status}: ${count}`)
  console.log(`  violations: ${violations.length}`)
  for (const violation of violations.slice(0, 30)) console.log(`  BROKEN: ${violation}`)
  recordResult({
    lab: 'hosts',
    sample: `${values.hosts} hosts, ${messages.length} messages`,
    cases: Object.values(faults).reduce((sum, count) => sum + count, 0),
    violations: violations.length,
    details: { faults, tools, attempts, exits },
  })
}
