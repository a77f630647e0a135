/**
 * Kill points of a real process. strace counts its system calls, and kills it before the N-th call of one kind.
 *
 * strace counts calls per thread. The main thread makes the file-system calls, so its calls are the kill points. If
 * another thread changes a file (`config set`), its calls count too, provided that the main thread makes none of that
 * kind. strace detaches from started programs at exec (`-b execve`), so only substrat itself is killed.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Ended, Lab } from '../support/lab.js'

export interface KillPoint {
  syscall: string
  /** The process dies before its n-th call of that kind. */
  n: number
  /** The effect of that call in the recorded run. */
  what: string
  /** The named moment that the call belongs to, if any. */
  named?: string
}

export interface Command {
  argv: string[]
  env?: Record<string, string>
  /** Further system calls, in addition to those that change something. */
  syscalls?: string[]
}

/** Traces all threads of substrat, but not the programs that it starts. */
export const STRACE = ['strace', '-f', '-b', 'execve', '-qq'] as const

/** Every call that changes a file, a directory or a lock, or sends output to another process. */
const SYSCALLS = [
  ...['openat', 'write', 'writev', 'pwrite64', 'pwritev', 'ftruncate', 'fallocate'],
  ...['fsync', 'fdatasync', 'sync_file_range', 'msync', 'syncfs'],
  ...['rename', 'renameat', 'renameat2', 'link', 'linkat', 'unlink', 'unlinkat', 'rmdir', 'mkdir', 'mkdirat'],
  ...['chmod', 'fchmod', 'fchmodat', 'chown', 'fchown', 'fchownat', 'utimensat'],
  ...['flock', 'fcntl', 'kill'],
]

/** A call of one of these kinds counts only if it matches. */
const COUNTS: Record<string, RegExp> = {
  // The threads of one process wake each other through pipes and counters. Output to people and programs goes through
  // sockets.
  write: /^\d+<(?!pipe|anon_inode)/,
  openat: /O_CREAT/,
  fcntl: /F_OFD_SETLK|F_SETLK/,
}

/** The reason if the kill sweep cannot run on this machine; undefined if it can. */
export function whyNoStrace(): string | undefined {
  const [program, ...words] = STRACE
  const probe = spawnSync(program, [...words, '-o', '/dev/null', '-e', 'trace=fsync', 'true'])
  if (probe.error !== undefined) return 'strace is not installed'
  return probe.status === 0 ? undefined : 'strace may not trace processes here, or is too old for -b'
}

/** Runs the command once without a kill, and lists its kill points. */
export async function recordPoints(
  lab: Lab,
  home: string,
  { argv, env = {}, syscalls = [] }: Command,
): Promise<{ ended: Ended; points: KillPoint[] }> {
  const trace = join(lab.root, `trace-${Math.random().toString(36).slice(2)}`)
  const kinds = [...SYSCALLS, ...syscalls].join(',')
  const under = [...STRACE, '-y', '-s', '0', '-o', trace, '-e', `trace=${kinds}`]
  const ended = await lab.run(home, argv, { under, env })
  try {
    return { ended, points: pointsIn(readFileSync(trace, 'utf8'), home) }
  } finally {
    rmSync(trace)
  }
}

/** Runs the command and kills it at the point. It ends by itself if it makes fewer calls this time. */
export function runKilled(
  lab: Lab,
  home: string,
  { argv, env = {} }: Command,
  { syscall, n }: Pick<KillPoint, 'syscall' | 'n'>,
): Promise<Ended> {
  const inject = ['-e', `trace=${syscall}`, '-e', `inject=${syscall}:signal=KILL:when=${n}`]
  return lab.run(home, argv, { under: [...STRACE, '-o', '/dev/null', ...inject], env })
}

interface Call {
  thread: string
  syscall: string
  rest: string
}

function pointsIn(trace: string, home: string): KillPoint[] {
  const calls = trace.split('\n').flatMap(callIn)
  const main = calls[0]?.thread
  const ofMain = new Set(calls.filter(({ thread }) => thread === main).map(({ syscall }) => syscall))
  const counts = new Map<string, number>()
  const points: KillPoint[] = []
  for (const { thread, syscall, rest } of calls) {
    if (thread !== main && ofMain.has(syscall)) continue
    const n = (counts.get(`${thread} ${syscall}`) ?? 0) + 1
    counts.set(`${thread} ${syscall}`, n)
    if (COUNTS[syscall]?.test(rest) ?? true) points.push({ syscall, n, what: describe(rest, home) })
  }
  return points
}

function callIn(line: string): Call[] {
  const [, thread, syscall, rest] = /^(\d+) +(\w+)\((.*)$/.exec(line) ?? []
  return thread === undefined ? [] : [{ thread, syscall: syscall as string, rest: rest as string }]
}

const PLACE = /[^\s"<>]*\/([\w-]+\/)?[^/\s"<>]+/

/** The last names of the path, without the ids and random parts that differ between runs. */
function describe(rest: string, home: string): string {
  const path = [...rest.replaceAll(/AT_FDCWD<[^>]*>/g, '').matchAll(/[<"]([^"<>]+)[>"]/g)]
    .map(([, found]) => found as string)
    .find((found) => found.includes('/'))
  if (path === undefined) return /^\d+<(\w+):/.exec(rest)?.[1] ?? ''
  const inHome = path.startsWith(home) ? path.slice(home.length + 1) : (PLACE.exec(path)?.[0] ?? path)
  return inHome.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<id>').replace(/\.\d+-\w+\.tmp$/, '.tmp')
}
