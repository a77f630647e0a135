/** Measures one process: wall-clock time, peak memory, and fsync calls. */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lab } from '../support/lab.js'
import type { Measured } from './table.js'

export interface Subject {
  name: string
  home: string
  /** Arguments of node: a script with its own arguments, or `-e 0`. With `program`, the arguments of that program. */
  argv: string[]
  program?: string
  env?: Record<string, string>
  /** Runs before each sample; not counted. */
  before?: string[]
  /** Called before each sample; not counted. */
  prepare?: () => void
  /** The expected exit status; 0 by default. */
  status?: number
  /** Whether to measure peak memory too, in a separate run. */
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
    return medianAndLeast((this.taken.get(name) ?? []).map((sample) => sample[key] / divisor))
  }
}

/**
 * Takes the samples of all subjects in turn, so that load on the machine affects all of them. The first round is not
 * counted.
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

export function medianAndLeast(values: number[]): Measured {
  return { median: median(values), least: Math.min(...values) }
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

/** Undefined if strace cannot count them here. */
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
 * Measured in a separate run, which reports its peak at its end. Read from /proc, because getrusage(2) may report the
 * peak of the parent process.
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
