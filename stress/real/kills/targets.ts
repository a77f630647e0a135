/** The processes of a home, and the targets of a strike among them. */
import { readFileSync } from 'node:fs'
import type { Target } from './modes.js'

/** `substrat mcp`, which a program starts, and the shell of the leash. */
const OURS = /^[^\0]*\0[^\0]*\/cli\/(bin|dist)\/|^(\/bin\/)?sh\0-c\0/

/**
 * Process ids; a negative number is a process group. `own`: the processes of the client. `all`: also the program and
 * its descendants.
 */
export function targetsOf(to: Target, own: number[], all: number[]): number[] {
  if (to === 'substrat') return own
  if (to === 'all') return all
  const program = largestOf(all.filter((pid) => !own.includes(pid) && !OURS.test(read(pid, 'cmdline'))))
  if (program === undefined) return []
  return [to === 'program' ? program : -groupOf(program)]
}

/** Sends the signal to each target. Targets that are already gone do not count. */
export function strike(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** The OOM killer takes the largest process: the program itself, not its wrapper. */
function largestOf(pids: number[]): number | undefined {
  return pids.sort((one, other) => residentKilobytes(other) - residentKilobytes(one))[0]
}

function residentKilobytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(read(pid, 'status'))?.[1] ?? 0)
}

function groupOf(pid: number): number {
  const stat = read(pid, 'stat')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2])
}

/** The command of a surviving process, for a report. */
export function commandOf(pid: number): string {
  return read(pid, 'cmdline').replaceAll('\0', ' ')
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
