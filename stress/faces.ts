// npm run stress:faces -- [--only acpx,editor,driven,clients] [--kills 100] [--seed 1]
// Runs the tests of the faces that kill at random, with many kills. Exits 1 if one of them fails.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { repository } from './support/lab.js'
import { recordResult } from './support/result.mjs'

interface Part {
  project: 'kills' | 'servers'
  file: string
  env?: Record<string, string>
}

interface Report {
  run: string
  seed: number
  counts: Record<string, number>
}

const PARTS: Record<string, Part> = {
  acpx: { project: 'servers', file: 'test/servers/acpx-killed.test.ts' },
  editor: { project: 'kills', file: 'test/acp/killed.test.ts' },
  driven: { project: 'kills', file: 'test/acp/driven.test.ts' },
  clients: { project: 'kills', file: 'test/serve/killed.test.ts', env: { CLIENTS: '200' } },
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(PARTS).join(',') },
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})

/** Undefined if the test failed. */
async function runPart({ project, file, env }: Part): Promise<Report | undefined> {
  const directory = mkdtempSync(path.join(tmpdir(), 'substrat-faces-'))
  const report = path.join(directory, 'report')
  const child = spawn('npx', ['vitest', 'run', '--project', project, file], {
    cwd: repository,
    env: { ...process.env, ...env, KILLS: values.kills, SEED: values.seed, KILLS_REPORT: report },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const status = await new Promise((resolve) => child.once('close', resolve))
  const found = existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Report) : undefined
  rmSync(directory, { recursive: true, force: true })
  return status === 0 ? found : undefined
}

const details: Record<string, Report['counts']> = {}
const failed: string[] = []
for (const name of values.only.split(',')) {
  const part = PARTS[name]
  if (part === undefined) throw new Error(`--only takes ${Object.keys(PARTS).join(', ')}, not ${name}`)
  const report = await runPart(part)
  if (report !== undefined) details[name] = report.counts
  else {
    failed.push(name)
    const options = `--only ${name} --kills ${values.kills} --seed ${values.seed}`
    console.log(`FAILED: ${name}. Repeat it: npm run stress:faces -- ${options}`)
  }
}
console.log(JSON.stringify({ seed: Number(values.seed), failed, ...details }, null, 2))
const kills = Object.values(details).map(
  ({ kills = 0, servers = 0, writers = 0 }) => kills + servers + writers,
)
recordResult({
  lab: 'faces',
  sample: `${values.kills} kills each of ${values.only}, seed ${values.seed}`,
  cases: kills.reduce((sum, each) => sum + each, 0),
  violations: failed.length,
  details,
})
if (failed.length > 0) process.exitCode = 1
