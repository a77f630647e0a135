/**
 * Faults of stdout and stderr: each write to one of them, or to both, fails once or permanently.
 *
 * The command must end and report the failure on one line. Its turn must be as without the fault. Its output must be a
 * prefix of the result, without gaps.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Ended, Lab } from '../support/lab.js'
import type { Experiment } from './real-trial.js'

const ERRNOS = ['ENOSPC', 'EIO', 'EBADF', 'EFBIG', 'EPIPE', 'EDQUOT'] as const
type Errno = (typeof ERRNOS)[number]

const REPLY = 'echo: hi'
const COMMANDS = [
  ['send', 'a', '--key', 'k', '--json', 'hi'],
  ['send', 'a', '--key', 'k', 'hi'],
  ['send', 'a', '--key', 'k', '--stream', 'hi'],
  ['spawn', '--name', 'b', '--json'],
  ['list', '--json'],
  ['show', 'a'],
  ['log', 'a', '--json'],
  ['doctor', '--json'],
  ['config', 'list', '--json'],
  ['providers'],
  ['show', 'nobody', '--json'],
  ['--version'],
  ['help'],
  ['plugins', '--json'],
]
/** A command without a reader ends as fast as any other. The bound is for a very busy machine. */
const RUN_MS_MAX = 60_000
const STORAGE_FAILED = 11

type Target = 'stdout' | 'stderr' | 'both'

interface Case {
  argv: string[]
  target: Target
  errno: Errno
  when: string
}

interface Printed extends Ended {
  stdout: string
  stderr: string
}

/** `every`: each k-th case. `words`: only commands that begin with these words. */
export async function failOutput(lab: Lab, every = 1, words?: string[]): Promise<Experiment> {
  const report: Experiment = { name: 'stdout and stderr fail', cases: 0, exits: {}, broken: [] }
  const template = lab.newHome()
  await lab.do(template, 'spawn', '--name', 'a')
  let index = 0
  for (const argv of COMMANDS.filter(([word = '']) => words?.includes(word) ?? true)) {
    const usual = await run(lab, lab.copyHome(template), { argv })
    if (usual.calls === undefined) return { ...report, skipped: usual.stderr.trim() }
    for (const each of casesOf(argv, usual.calls)) {
      if (index++ % every !== 0) continue
      const home = lab.copyHome(template)
      const met = await run(lab, home, each)
      const wrong = [...wrongIn(each, usual, met), ...(await wrongAfter(lab, home, each))]
      const code = String(met.code ?? met.signal)
      report.cases += 1
      report.exits[code] = (report.exits[code] ?? 0) + 1
      const what = `substrat ${argv.join(' ')}, ${each.target} meets ${each.errno} at ${each.when}`
      report.broken.push(...wrong.map((text) => `${what}: ${text}`))
      lab.removeHome(home)
    }
  }
  return report
}

function casesOf(argv: string[], calls: Record<'stdout' | 'stderr', number>): Case[] {
  return (['stdout', 'stderr', 'both'] as const).flatMap((target) => {
    const count = target === 'both' ? 1 : calls[target]
    return Array.from({ length: count }, (_, n) => n + 1).flatMap((n) =>
      ERRNOS.flatMap((errno) =>
        // Without a second write the two cases are the same.
        (n < count ? [`${n}`, `${n}+`] : [`${n}+`]).map((when) => ({ argv, target, errno, when })),
      ),
    )
  })
}

async function run(
  lab: Lab,
  home: string,
  { argv, target = 'both', errno, when }: { argv: string[] } & Partial<Case>,
): Promise<Printed & { calls: Record<'stdout' | 'stderr', number> | undefined }> {
  const [out, err, trace] = ['out', 'err', 'trace'].map((name) => join(lab.root, `printed.${name}`)) as [
    string,
    string,
    string,
  ]
  for (const file of [out, err, trace]) rmSync(file, { force: true })
  const paths = target === 'stdout' ? [out] : target === 'stderr' ? [err] : [out, err]
  const fault = errno === undefined ? '' : ` -e inject=write:error=${errno}:when=${when}`
  const script = `exec strace -f -b execve -qq -y -o '${trace}' -e trace=write ${paths.map((path) => `-P '${path}'`).join(' ')}${fault} "$0" "$@" >'${out}' 2>'${err}'`
  const ended = await lab.run(home, argv, { under: ['bash', '-c', script], timeoutMs: RUN_MS_MAX })
  const text = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  const lines = text(trace).split('\n')
  const count = (file: string): number => lines.filter((line) => line.includes(`<${file}>`)).length
  return {
    ...ended,
    stdout: text(out),
    stderr: text(err) + ended.stderr,
    calls: existsSync(trace) ? { stdout: count(out), stderr: count(err) } : undefined,
  }
}

/** Ids and times are new in each run. */
function mask(text: string): string {
  return text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+Z/g, '<time>')
    .replace(/printed\.\w+|home-\d+|"crc":"\w+"|boot_id":"[^"]+"|"pid":\d+/g, '<new>')
}

function* wrongIn({ target, errno, when }: Case, usual: Printed, met: Printed): Iterable<string> {
  if (met.signal !== null) return yield `it ends by itself, not by ${met.signal}`
  const hasResult = [0, 5, 6, 7].includes(usual.code as number)
  const isLost = target !== 'stderr' && errno !== 'EPIPE' && hasResult
  const expected = isLost ? STORAGE_FAILED : usual.code
  if (met.code !== expected) yield `it exits ${expected}, not ${met.code}: ${met.stderr.slice(0, 300)}`
  if (/\n {4}at /.test(met.stderr)) yield `it prints no stack: ${met.stderr.slice(0, 300)}`
  const says = met.stderr.split('\n').filter((line) => line.includes('cannot write the result to stdout'))
  if (isLost && target === 'stdout' && (says.length !== 1 || !says[0]?.includes(errno)))
    yield `it reports the failure once: ${met.stderr.slice(0, 300)}`
  if (met.stderr.length > usual.stderr.length + 1000) yield `it prints ${met.stderr.length} bytes on stderr`
  if (target === 'stderr' && mask(met.stdout) !== mask(usual.stdout)) yield 'its result is complete'
  // After a failed write there is no further write.
  const isOnce = !when.endsWith('+')
  const isBeginning = mask(usual.stdout).startsWith(mask(met.stdout).trimEnd())
  if (target === 'stdout' && isOnce && errno !== 'EPIPE' && !isBeginning)
    yield `it prints a prefix of its result: ${met.stdout.slice(0, 300)}`
}

/** The turn is the same as without the fault, and its reply can be read. */
async function* wrongAfterwards(lab: Lab, home: string, { argv }: Case): AsyncIterable<string> {
  if (argv[0] !== 'send') return
  const shown = await lab.run(home, ['show', 'a', '--reply'])
  if (shown.stdout !== `${REPLY}\n`) yield `show --reply prints the reply: ${shown.stdout}${shown.stderr}`
  const again = await lab.run(home, ['send', 'a', '--key', 'k', 'hi'])
  if (again.code !== 0 || again.stdout !== `${REPLY}\n`)
    yield `the same key has the same reply: ${again.stderr}`
  const log = await lab.do(home, 'log', 'a', '--json')
  const count = log.split('\n').filter((line) => line.includes('"kind":"run.started"')).length
  if (count !== 1) yield `there is one turn, not ${count}`
}

async function wrongAfter(lab: Lab, home: string, each: Case): Promise<string[]> {
  const wrong: string[] = []
  for await (const text of wrongAfterwards(lab, home, each)) wrong.push(text)
  return wrong
}
