/**
 * Kill points of a real process: strace counts its system calls, and kills it before the N-th of one kind.
 *
 * Calls are counted per thread. Those of the file system are made by the main thread, so its calls are the points; where
 * another thread changes a file (`config set`) those of its calls are, that the main thread never makes. A program that the
 * process starts is let go at its exec (`-b execve`): only substrat itself is killed.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Ended, Lab } from '../support/lab.js'

export interface KillPoint {
  syscall: string
  /** The process dies before its n-th call of that kind. */
  n: number
  /** What that call would have done, in the recorded run. */
  what: string
  /** The named moment that the call belongs to, if it belongs to one. */
  named?: string
}

export interface Command {
  argv: string[]
  env?: Record<string, string>
  /** Besides those that change something. */
  syscalls?: string[]
}

/** Of all threads of substrat, and not of the programs that it starts. */
export const STRACE = ['strace', '-f', '-b', 'execve', '-qq'] as const

/** Every call that changes a file, a directory or a lock, or tells somebody something. */
const SYSCALLS = [
  ...['openat', 'write', 'writev', 'pwrite64', 'pwritev', 'ftruncate', 'fallocate'],
  ...['fsync', 'fdatasync', 'sync_file_range', 'msync', 'syncfs'],
  ...['rename', 'renameat', 'renameat2', 'link', 'linkat', 'unlink', 'unlinkat', 'rmdir', 'mkdir', 'mkdirat'],
  ...['chmod', 'fchmod', 'fchmodat', 'chown', 'fchown', 'fchownat', 'utimensat'],
  ...['flock', 'fcntl', 'kill'],
]

/** Calls of these kinds that do not match change nothing. */
const COUNTS: Record<string, RegExp> = {
  // Threads of one process wake each other by pipes and counters; people and programs are told by sockets.
  write: /^\d+<(?!pipe|anon_inode)/,
  openat: /O_CREAT/,
  fcntl: /F_OFD_SETLK|F_SETLK/,
}

/** Why there can be no kill sweep on this machine; undefined where there can. */
export function whyNoStrace(): string | undefined {
  const [program, ...words] = STRACE
  const probe = spawnSync(program, [...words, '-o', '/dev/null', '-e', 'trace=fsync', 'true'])
  if (probe.error !== undefined) return 'strace is not installed'
  return probe.status === 0 ? undefined : 'strace may trace no process here, or is too old for -b'
}

/** Runs the command once, unharmed, and lists its kill points. */
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

/** Runs the command, killed at the point. It ends by itself where it makes fewer calls this time. */
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

/** The last names of the path, without the ids and random parts that differ from run to run. */
function describe(rest: string, home: string): string {
  const path = [...rest.replaceAll(/AT_FDCWD<[^>]*>/g, '').matchAll(/[<"]([^"<>]+)[>"]/g)]
    .map(([, found]) => found as string)
    .find((found) => found.includes('/'))
  if (path === undefined) return /^\d+<(\w+):/.exec(rest)?.[1] ?? ''
  const inHome = path.startsWith(home) ? path.slice(home.length + 1) : (PLACE.exec(path)?.[0] ?? path)
  return inHome.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<id>').replace(/\.\d+-\w+\.tmp$/, '.tmp')
}
