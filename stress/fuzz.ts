// npm run stress:fuzz -- [--seed 1] [--minutes M | --seeds N] [--mode in-process|processes|postgres] [--agents N]
// [--wrong-clocks] [--shards N] [--json FILE], or --effects terminate|retry|fork|spawn|cancel|queue|again|hold|decide|all
//
// Runs random trees, mail, turns and decisions while processes are killed, the power is cut, the disk fails and clocks
// jump. Exits 1 if a promise is broken. After a failure, --seed S --path P runs the shrunk sequence and prints it step
// by step. With --canary NAME it runs a program broken by a mutant (stress/mutants/canaries.ts), and exits 1 if the
// mutant is not caught.
import { parseArgs } from 'node:util'
import { Campaign, type Totals } from './fuzz/campaign.js'
import { sweepEffects } from './fuzz/effects.js'
import { runShards } from './fuzz/shards.js'
import { skipWithoutPostgres } from './support/databases.js'
import { recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    seeds: { type: 'string' },
    mode: { type: 'string', default: 'in-process' },
    shards: { type: 'string', default: '1' },
    /** The distance between the seeds of one shard. */
    stride: { type: 'string', default: '1' },
    /** The size of a random tree for each seed. The default is a fixed tree of seven. */
    agents: { type: 'string' },
    /** Runs some commands with a clock that is far off. */
    'wrong-clocks': { type: 'boolean', default: false },
    path: { type: 'string' },
    /** Instead of seeds: harms this command, or `all`, at each disk change, in homes where recovery has other work. */
    effects: { type: 'string' },
    /** Runs each seed twice. The logs must be equal byte by byte. */
    twice: { type: 'boolean', default: false },
    json: { type: 'string' },
    canary: { type: 'string' },
    /** The time to shrink a failure. */
    'shrink-seconds': { type: 'string', default: '120' },
  },
})

const { mode, canary, path } = values
if (mode !== 'in-process' && mode !== 'processes' && mode !== 'postgres')
  throw new Error('--mode is in-process, processes or postgres')
if (mode === 'postgres') skipWithoutPostgres()
const options = {
  mode,
  seed: Number(values.seed),
  stride: Number(values.stride),
  seeds:
    values.seeds === undefined
      ? values.minutes === undefined
        ? 1
        : Number.POSITIVE_INFINITY
      : Number(values.seeds),
  agents: values.agents === undefined ? undefined : Number(values.agents),
  hasWrongClocks: values['wrong-clocks'],
  minutes: values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes),
  shrinkSeconds: canary === undefined ? Number(values['shrink-seconds']) : 0,
  stops: canary !== undefined,
  path,
  twice: values.twice,
  json: values.json,
  note: (text: string) => console.log(text),
} as const

if (values.effects !== undefined) {
  const { harmed, failures } = await sweepEffects(values.effects)
  for (const failure of failures) console.log(failure)
  console.log(`effects: harmed ${harmed}; ${failures.length} failures`)
  process.exitCode = failures.length > 0 || harmed === 0 ? 1 : 0
} else if (values.shards !== '1') record(await runShards(Number(values.shards), options, canary))
else {
  const totals = await new Campaign(options).run()
  const { failures } = totals
  record([totals])
  if (canary === undefined) process.exitCode = failures > 0 ? 1 : 0
  else {
    console.log(`${failures > 0 ? 'caught' : 'NOT CAUGHT'}: ${canary}`)
    process.exitCode = failures > 0 ? 0 : 1
  }
}

function record(totals: Totals[]): void {
  const sum = (of: (total: Totals) => number): number =>
    totals.reduce((before, total) => before + of(total), 0)
  recordResult({
    lab: mode === 'in-process' ? 'fuzz' : `fuzz-${mode}`,
    sample: `${sum(({ seeds }) => seeds)} seeds`,
    cases: sum(({ commands }) => commands),
    violations: sum(({ failures }) => failures),
    details: totals,
  })
}
