// Runs the whole test suite on a slowed machine, and reports the result:
// node stress/suite.mjs [--runs N] [--busy LOOPS] [--quota SHARE] [--record] [-- VITEST ARGUMENT…]
// --busy runs that many busy loops next to it. --quota limits it to that share of all cores (0.25: a quarter of the
// speed) with a cgroup: cpu.max under version 2, otherwise cpu.cfs_quota_us. That needs root.
// A run fails if a test or vitest fails, or if it leaves processes or temporary files behind.
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { recordResult } from './support/result.mjs'

const PERIOD_US = 100_000
const root = path.dirname(import.meta.dirname)

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '1' },
    busy: { type: 'string', default: '0' },
    quota: { type: 'string' },
  },
})

build()
const group = values.quota === undefined ? undefined : limitedGroup(Number(values.quota))
const loops = Array.from({ length: Number(values.busy) }, () =>
  spawn('/bin/sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }),
)
const end = () => {
  for (const loop of loops) loop.kill('SIGKILL')
  if (group !== undefined) removeGroup(group)
}
process.on('exit', end)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130))

let failedRuns = 0
let tests = 0
let faults = 0
for (let index = 1; index <= Number(values.runs); index++) {
  const { passed, failures, left, seconds, cpuSeconds } = await run()
  const isGood = failures.length + left.length === 0
  if (!isGood) failedRuns++
  tests += passed + failures.length
  faults += failures.length + left.length
  console.log(
    `run ${index}: ${passed} passed, ${failures.length} failed, ${left.length} left behind, ${seconds.toFixed(0)} s, ${cpuSeconds.toFixed(0)} s of CPU`,
  )
  for (const name of failures) console.log(`  failed: ${name}`)
  for (const name of left) console.log(`  left behind: ${name}`)
}
console.log(`${values.runs} runs, ${failedRuns} failed`)
recordResult({
  lab: 'suite',
  sample: [
    `${values.runs} ${values.runs === '1' ? 'run' : 'runs'} of ${positionals.length === 0 ? 'all tests' : positionals.join(' ')}`,
    ...(values.quota === undefined ? [] : [`with ${values.quota} of the CPU`]),
    ...(values.busy === '0' ? [] : [`beside ${values.busy} busy loops`]),
  ].join(', '),
  cases: tests,
  violations: faults,
})
process.exitCode = failedRuns === 0 ? 0 : 1
// A living busy loop keeps this process alive.
end()

function build() {
  const steps = [
    ['node', ['esbuild.config.mjs']],
    ['npm', ['run', '-s', 'build', '--workspaces', '--if-present']],
  ]
  for (const [program, args] of steps) {
    const { status } = spawnSync(program, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
    if (status !== 0) throw new Error(`${program} ${args.join(' ')} exited ${status}`)
  }
}

async function run() {
  // A short name, because the path of a Unix socket is limited to 107 bytes.
  const scratch = mkdtempSync(path.join(tmpdir(), 's-'))
  // Some tests switch to another user, who must be able to reach their files.
  chmodSync(scratch, 0o755)
  const report = `${scratch}.json`
  const mark = `SUBSTRAT_SUITE=${scratch}`
  const vitest = ['npx', 'vitest', 'run', '--reporter=json', `--outputFile=${report}`, ...positionals]
  const [program, ...args] = group === undefined ? vitest : within(group, vitest)
  const begun = performance.now()
  const cpuBefore = cpuOfEnded()
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, TMPDIR: scratch, SUBSTRAT_SUITE: scratch, NO_COLOR: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const status = await new Promise((resolve) => child.once('exit', (code) => resolve(code)))
  const seconds = (performance.now() - begun) / 1000
  const cpuSeconds = cpuOfEnded() - cpuBefore
  const { passed, failures } = readReport(report)
  if (status !== 0 && failures.length === 0) failures.push(`vitest exited ${status}: ${stderr.slice(-2000)}`)
  const left = [...readdirSync(scratch), ...endMarked(mark)]
  rmSync(scratch, { recursive: true, force: true })
  rmSync(report, { force: true })
  return { passed, failures, left, seconds, cpuSeconds }
}

/** A file that fails before its first test counts as one failure. */
function readReport(file) {
  if (!existsSync(file)) return { passed: 0, failures: ['vitest has left no report'] }
  const { numPassedTests, testResults } = JSON.parse(readFileSync(file, 'utf8'))
  const failures = testResults.flatMap(({ name, status, message, assertionResults }) => {
    const short = path.relative(root, name)
    const failed = assertionResults.filter((each) => each.status === 'failed')
    if (failed.length === 0 && status === 'failed') return [`${short}: ${message}`]
    return failed.map(({ fullName, failureMessages }) => `${short}: ${fullName}: ${first(failureMessages)}`)
  })
  return { passed: numPassedTests, failures }
}

function first([message = '']) {
  return message.split('\n').slice(0, 3).join(' | ').slice(0, 400)
}

/** CPU seconds of all descendants that have ended and been reaped. */
function cpuOfEnded() {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

/** Kills the processes that a run left, and returns their commands. */
function endMarked(mark) {
  const found = []
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark)) continue
      found.push(
        `process ${pid}: ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()}`,
      )
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It has ended in the meantime.
    }
  }
  return found
}

/** A cgroup whose processes together get that share of the machine. */
function limitedGroup(share) {
  const quotaUs = Math.round(share * availableParallelism() * PERIOD_US)
  const isSecond = existsSync('/sys/fs/cgroup/cgroup.controllers')
  const directory = path.join(
    isSecond ? '/sys/fs/cgroup' : '/sys/fs/cgroup/cpu',
    `substrat-suite-${process.pid}`,
  )
  if (isSecond) writeFileSync('/sys/fs/cgroup/cgroup.subtree_control', '+cpu')
  mkdirSync(directory)
  if (isSecond) writeFileSync(path.join(directory, 'cpu.max'), `${quotaUs} ${PERIOD_US}`)
  else {
    writeFileSync(path.join(directory, 'cpu.cfs_period_us'), `${PERIOD_US}`)
    writeFileSync(path.join(directory, 'cpu.cfs_quota_us'), `${quotaUs}`)
  }
  return directory
}

/** EBUSY until its last process, which may have just been killed, is gone. */
function removeGroup(directory) {
  for (let tries = 0; existsSync(directory) && tries < 500; tries++) {
    try {
      rmdirSync(directory)
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}

function within(directory, command) {
  const script = `echo $$ > ${directory}/cgroup.procs && exec "$@"`
  return ['/bin/sh', '-c', script, 'sh', ...command]
}
