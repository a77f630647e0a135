// npm run stress:comparison -- [--only claude,pi] [--rounds 3] [--json stress/results/comparison.json] [--docs docs/comparison.md]
//                             [--from FILE]: make the page from an earlier result
// substrat and other agent CLIs meet the same kills, refusals and limits of a model on the loopback. The page shows how
// each ended. If a measure fails, the result has the reason, and its cell says "not measured".
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import type { Cli } from './comparison/cli.js'
import { CLIS } from './comparison/clis.js'
import * as measure from './comparison/measures.js'
import { type Comparison, type Row, withTable } from './comparison/page.js'
import { PHASES } from './comparison/work.js'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'string' },
    from: { type: 'string' },
    docs: { type: 'string' },
  },
})
const comparison: Comparison = values.from === undefined ? await compare() : earlier(values.from)
if (values.json !== undefined) {
  if (values.only !== undefined && existsSync(values.json)) keepOthers(comparison, earlier(values.json))
  mkdirSync(dirname(values.json), { recursive: true })
  writeFileSync(values.json, `${JSON.stringify(comparison, null, 1)}\n`)
}
if (values.docs !== undefined) {
  writeFileSync(values.docs, withTable(readFileSync(values.docs, 'utf8'), comparison))
}

function earlier(file: string): Comparison {
  return JSON.parse(readFileSync(file, 'utf8')) as Comparison
}

/** A run of some CLIs replaces only their rows. */
function keepOthers(comparison: Comparison, before: Comparison): void {
  const same = (one: Row) => (other: Cli | Row) =>
    one.name === other.name && (one.with ?? null) === (other.with ?? null)
  comparison.rows = CLIS.flatMap((cli) =>
    [...comparison.rows, ...before.rows].filter((row) => same(row)(cli)).slice(0, 1),
  )
}

async function compare(): Promise<Comparison> {
  const only = values.only?.split(',')
  const clis = CLIS.filter(({ name }) => only?.includes(name) ?? true)
  // Most CLIs retry for minutes, so all of them run in parallel.
  const failures = clis.map((cli) => ({
    limited: attempt(() => measure.failingModel(cli, 'rate_limit')),
    wrongKey: attempt(() => measure.failingModel(cli, 'authentication')),
  }))
  const rows: Row[] = []
  for (const [i, cli] of clis.entries()) {
    const row = await measureAll(cli, failures[i] as (typeof failures)[number])
    rows.push(row)
    console.log(JSON.stringify(row, null, 1))
  }
  return { date: new Date().toISOString().slice(0, 10), rows }
}

async function measureAll(
  cli: Cli,
  failing: { [Name in 'limited' | 'wrongKey']: Promise<Row[Name]> },
): Promise<Row> {
  const kills = (then: 'next' | 'again') => async (): Promise<measure.Killed[]> => {
    const list: measure.Killed[] = []
    for (let round = 1; round <= Number(values.rounds); round++) {
      for (const phase of PHASES) {
        console.error(`${cli.name}: killed while ${phase}, then ${then}, round ${round}`)
        list.push(await measure.kill(cli, phase, then))
      }
    }
    return list
  }
  return {
    name: cli.name,
    with: cli.with ?? null,
    packages: cli.packages,
    version: await attempt(() => measure.versionOf(cli)),
    next: await attempt(kills('next')),
    again: await attempt(kills('again')),
    syncs: await attempt(() => measure.syncs(cli)),
    key: await attempt(() => measure.key(cli)),
    permission: await attempt(() => measure.permission(cli)),
    wrongKey: await failing.wrongKey,
    limited: await failing.limited,
  }
}

async function attempt<Value>(act: () => Promise<Value>): Promise<Value | { failed: string }> {
  try {
    return await act()
  } catch (error) {
    console.error((error as Error).stack)
    return { failed: (error as Error).message.split('\n')[0] as string }
  }
}
