/** What one process costs: wall clock, peak memory, calls that make the disk wait. */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lab } from '../support/lab.js'
import type { Measured } from './table.js'

export interface Subject {
  name: string
  home: string
  /** Arguments of node: a script with its own, or `-e 0`. With `program`, of that. */
  argv: string[]
  program?: string
  env?: Record<string, string>
  /** The same, run before each sample and not counted. */
  before?: string[]
  /** Done before each sample and not counted. */
  prepare?: () => void
  /** Exit status of a good end; 0 without it. */
  status?: number
  /** Whether its peak memory is taken too, in a run of its own. */
  isWeighed?: boolean
}

interface Sample {
  wallMs: number
  peakKb: number
}

export class Samples {
  private readonly taken = new Map<string, Sample[]>()

  add({ name }: Subject, sample: Sample): void {
    this.taken.set(name, [...(this.taken.get(name) ?? []), sample])
  }

  wallMs(subject: Subject): Measured {
    return this.of(subject, 'wallMs', 1)
  }

  peakMb(subject: Subject): Measured {
    return this.of(subject, 'peakKb', 1024)
  }

  private of({ name }: Subject, key: keyof Sample, divisor: number): Measured {
    return measured((this.taken.get(name) ?? []).map((sample) => sample[key] / divisor))
  }
}

/**
 * The samples of each subject, taken in turn so that all of them see the same machine. A round that is not counted
 * comes first.
 */
export function sampleInTurn(lab: Lab, subjects: Subject[], rounds: number): Samples {
  const samples = new Samples()
  for (let round = -1; round < rounds; round++) {
    for (const subject of subjects) {
      prepare(lab, subject)
      const wallMs = wallOf(lab, subject)
      if (subject.isWeighed === true) prepare(lab, subject)
      const peakKb = subject.isWeighed === true ? peakOf(lab, subject) : Number.NaN
      if (round >= 0) samples.add(subject, { wallMs, peakKb })
    }
  }
  return samples
}

export function measured(values: number[]): Measured {
  return { median: median(values), least: Math.min(...values) }
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

/** Undefined where strace cannot count them here. */
export function countSyncs(lab: Lab, subject: Subject): number | undefined {
  const trace = join(lab.root, 'syncs')
  const calls = ['fsync', 'fdatasync', 'sync_file_range', 'msync', 'syncfs', 'sync']
  const strace = ['-f', '-qq', '-o', trace, '-e', `trace=${calls.join(',')}`, process.execPath]
  const { status } = start(lab, 'strace', [...strace, ...subject.argv], subject)
  if (status !== 0) return undefined
  const lines = readFileSync(trace, 'utf8').split('\n')
  rmSync(trace)
  return lines.filter((line) => /^\d+ +\w*sync\w*\(/.test(line)).length
}

function wallOf(lab: Lab, subject: Subject): number {
  const begin = performance.now()
  expectWell(start(lab, subject.program ?? process.execPath, subject.argv, subject), subject)
  return performance.now() - begin
}

/**
 * In a run of its own, which reports itself at its end. From /proc, because the peak that getrusage(2) reports can be
 * that of this process, out of which it was started.
 */
function peakOf(lab: Lab, subject: Subject): number {
  const file = join(lab.root, 'peak')
  const probe = join(lab.root, 'peak.cjs')
  writeFileSync(
    probe,
    `const fs = require('node:fs')
process.once('exit', () => {
  const found = /VmHWM:\\s+(\\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))
  fs.writeFileSync(${JSON.stringify(file)}, found[1])
})`,
  )
  expectWell(start(lab, process.execPath, ['--require', probe, ...subject.argv], subject), subject)
  return Number(readFileSync(file, 'utf8'))
}

function prepare(lab: Lab, { name, home, before, prepare: act }: Subject): void {
  act?.()
  if (before === undefined) return
  const subject = { name: `before ${name}`, home, argv: before }
  expectWell(start(lab, process.execPath, before, subject), subject)
}

function start(
  lab: Lab,
  program: string,
  argv: string[],
  { home, env }: Subject,
): { status: number | null; stderr: Buffer } {
  return spawnSync(program, argv, {
    cwd: lab.workspace,
    env: { ...lab.environment(home), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}

function expectWell(
  { status, stderr }: { status: number | null; stderr: Buffer },
  { name, argv, status: good = 0 }: Subject,
): void {
  if (status === good) return
  throw new Error(`${name}: ${argv.join(' ')} exited ${status}: ${stderr.toString('utf8').slice(0, 300)}`)
}
