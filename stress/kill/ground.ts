/** Where the homes of a sweep are, and how a command is killed there. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { homeFileOfAnother } from '../scenarios/homes.js'
import type { Scenario } from '../scenarios/scenario.js'
import type { Step } from '../scenarios/stage.js'
import type { Ended, Lab } from '../support/lab.js'
import { digestOfLeft, idsIn } from './left.js'
import { namePoints } from './named.js'
import { type Command, type KillPoint, recordPoints, runKilled } from './strace.js'

export interface Ground {
  readonly lab: Lab
  newHome(): Promise<string>
  /** With the files beside it. */
  copy(home: string): Promise<string>
  remove(home: string): Promise<void>
  becomeAnother(home: string): Promise<void>
  /** Runs the command once without a kill, and lists its kill points. */
  record(home: string, command: Command): Promise<{ ended: Ended; points: KillPoint[] }>
  /** Runs the command and kills it at the point. It ends by itself if it makes fewer calls this time. */
  kill(home: string, command: Command, point: Pick<KillPoint, 'syscall' | 'n'>): Promise<Ended>
  /** Whether the step begins at the point. */
  begins(step: Step, point: KillPoint): boolean
  /** The points that the scenario sweeps. */
  pointsOf(scenario: Scenario, points: KillPoint[]): KillPoint[]
  /** Equal for two states with the same continuation (left.ts). */
  digest(home: string, told: Ended, known: Set<string>): Promise<string>
  idsIn(home: string): Promise<Set<string>>
}

const LOG = /^agents\/<id>\/events\.jsonl$/

/** The system call that begins each step, and its file. */
const CALLS: Record<Step, [syscall: RegExp, what: RegExp]> = {
  'log.append': [/^pwrite64$/, LOG],
  'log.sync': [/^fdatasync$/, LOG],
  'mail.remove': [/^unlink/, /^agents\/<id>\/inbox\//],
  'remove.tree': [/^(unlink|unlinkat|rmdir)$/, /^agents\/\.\w+-<id>/],
  'spawn.rename': [/^rename/, /^agents\/\.spawn-<id>$/],
  'spawn.sync_agents': [/^fsync$/, /^agents$/],
}

/** Homes in files. strace kills a command before a system call. */
export class InFiles implements Ground {
  constructor(readonly lab: Lab) {}

  async newHome(): Promise<string> {
    return this.lab.newHome()
  }

  async copy(home: string): Promise<string> {
    return this.lab.copyHome(home)
  }

  async remove(home: string): Promise<void> {
    this.lab.removeHome(home)
  }

  async becomeAnother(home: string): Promise<void> {
    const file = join(home, 'home.json')
    writeFileSync(file, homeFileOfAnother(file))
  }

  record(home: string, command: Command): Promise<{ ended: Ended; points: KillPoint[] }> {
    return recordPoints(this.lab, home, command)
  }

  kill(home: string, command: Command, point: Pick<KillPoint, 'syscall' | 'n'>): Promise<Ended> {
    return runKilled(this.lab, home, command, point)
  }

  begins(step: Step, point: KillPoint): boolean {
    const [syscall, what] = CALLS[step]
    return syscall.test(point.syscall) && what.test(point.what)
  }

  pointsOf({ name, kill }: Scenario, points: KillPoint[]): KillPoint[] {
    const named = namePoints(name, points)
    return kill?.isMomentOnly === true ? named.filter((point) => point.named !== undefined) : named
  }

  async digest(home: string, told: Ended, known: Set<string>): Promise<string> {
    return digestOfLeft(home, told, known)
  }

  async idsIn(home: string): Promise<Set<string>> {
    return idsIn(home)
  }
}
