/**
 * Power cuts of real file systems under real processes. Two commands work on a home at once. At a random moment the
 * file system shuts down without a flush; everything acknowledged by then must survive. If it has no such shutdown, the
 * processes are killed, and only the bytes on the disk at that moment come up.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Random } from '../../test/support/random.js'
import { type AgentSeen, audit, conversation, HomeView } from '../support/home-view.js'
import type { Ended, Lab, Started } from '../support/lab.js'
import { type FileSystem, LoopDisk } from './loop-disk.js'

export interface RealReport {
  fileSystem: FileSystem
  /** The reason if the test was skipped. */
  skipped: string | undefined
  cuts: number
  /** Commands that had acknowledged something when the power was cut, and commands that had not. */
  acknowledged: number
  unacknowledged: number
  violations: string[]
  seconds: number
}

export interface RealOptions {
  seed: number
  cuts: number
  /** Called with the counts as they grow. */
  onCut(report: RealReport): void
}

/** A command, and the promises that it makes. */
interface Command {
  argv: string[]
  /** The broken promises on the disk that came up. */
  brokenPromises(ended: Ended, home: HomeView): Iterable<string>
  /** Whether it acknowledged anything. */
  hasAcknowledged(ended: Ended): boolean
}

/** The power cut comes within the time that this many commands take. */
const COMMANDS_MAX = 2

export async function cutReally(
  lab: Lab,
  fileSystem: FileSystem,
  { seed, cuts, onCut }: RealOptions,
): Promise<RealReport> {
  const began = performance.now()
  const report: RealReport = {
    fileSystem,
    skipped: undefined,
    cuts: 0,
    acknowledged: 0,
    unacknowledged: 0,
    violations: [],
    seconds: 0,
  }
  const disk = LoopDisk.make(lab.root, fileSystem)
  if (typeof disk === 'string') return { ...report, skipped: disk }
  try {
    await new Trial(lab, disk, new Random(seed), report).run(cuts, () => {
      report.seconds = (performance.now() - began) / 1000
      onCut(report)
    })
  } finally {
    disk.remove()
  }
  return report
}

class Trial {
  private readonly home: string
  private count = 0
  /** The current duration of a command on this machine. */
  private usualMs = 500
  /** Acknowledged results must survive all later cuts as well. */
  private readonly bound: [Command, Ended][] = []

  constructor(
    private readonly lab: Lab,
    private readonly disk: LoopDisk,
    private readonly random: Random,
    private readonly report: RealReport,
  ) {
    this.home = join(disk.directory, 'home')
  }

  async run(cuts: number, onCut: () => void): Promise<void> {
    for (const name of ['a', 'b']) await this.lab.do(this.home, 'spawn', '--name', name)
    for (let cut = 0; cut < cuts; cut++) {
      await this.cut(cut)
      onCut()
    }
  }

  private async cut(number: number): Promise<void> {
    const { lab, home, disk, report, random } = this
    let isOn = true
    const running = new Set<Started>()
    const streams = ['a', 'b'].map(async (agent) => {
      const done: [Command, Ended][] = []
      while (isOn) {
        const command = this.next(agent)
        const started = lab.start(home, command.argv)
        running.add(started)
        done.push([command, await started.ended])
        running.delete(started)
      }
      return done
    })
    await sleep(random.between(0, COMMANDS_MAX * this.usualMs))
    if (disk.isCutByCopy) {
      isOn = false
      for (const { child } of running) child.kill('SIGKILL')
      await Promise.all(streams)
    }
    const problem = disk.cutPower()
    isOn = false
    const done = (await Promise.all(streams)).flat()
    if (problem !== undefined) throw new Error(problem)
    disk.comeUp()
    report.cuts += 1
    // Recovery has not scanned the home since this boot.
    forgetScan(home)
    const told = done.filter(([command, ended]) => command.hasAcknowledged(ended))
    this.bound.push(...told)
    report.acknowledged += told.length
    report.unacknowledged += done.length - told.length
    this.note(number, audit(home, false))
    this.note(number, this.brokenByCut())
    const began = performance.now()
    const recovered = await lab.run(home, ['recover', '--all'])
    this.usualMs = (this.usualMs + performance.now() - began) / 2
    if (recovered.code !== 0)
      this.note(number, [`recover --all exits 0, not ${recovered.code}: ${recovered.stderr}`])
    this.note(number, audit(home, true))
    for (const [{ argv }] of done.filter((one) => !told.includes(one) && one[0].argv.includes('--key'))) {
      const again = await lab.run(home, argv)
      if (again.code !== 0)
        this.note(number, [`the same key again exits 0, not ${again.code}: ${again.stderr}`])
    }
    this.note(number, this.brokenByCut())
    this.note(number, audit(home, true))
  }

  private *brokenByCut(): Iterable<string> {
    const home = HomeView.read(this.home)
    for (const [command, ended] of this.bound) yield* command.brokenPromises(ended, home)
  }

  private note(cut: number, broken: Iterable<string>): void {
    for (const sentence of broken) this.report.violations.push(`cut ${cut + 1}: ${sentence}`)
  }

  private next(agent: string): Command {
    this.count += 1
    const text = `message ${this.count}`
    return this.random.pickWeighted({ send: 5, queue: 2, spawn: 2, set: 1 }) === 'send'
      ? sendCommand(agent, text)
      : this.random.chance(0.4)
        ? queueCommand(agent, text)
        : this.random.chance(0.6)
          ? spawnCommand(`n${this.count}`)
          : setCommand(agent, text)
  }
}

function sendCommand(agent: string, text: string): Command {
  return {
    argv: ['send', agent, '--key', text, text],
    hasAcknowledged: ({ stdout }) => stdout === `echo: ${text}\n`,
    *brokenPromises(_ended, home) {
      const seen = home.agent(agent)
      const { asked, completed } = seen === undefined ? { asked: 0, completed: 0 } : conversation(seen, text)
      if (asked !== 1 || completed !== 1)
        yield `${text} was answered and must be in the log once, not ${asked} times, with ${completed} ends`
    },
  }
}

const QUEUED = /queued as message ([0-9a-f-]{36})/

function queueCommand(agent: string, text: string): Command {
  return {
    argv: ['send', agent, '--queue', '--no-drain', text],
    hasAcknowledged: ({ stderr }) => QUEUED.test(stderr),
    *brokenPromises({ stderr }, home) {
      const id = QUEUED.exec(stderr)?.[1] as string
      const seen = home.agent(agent)
      if (seen === undefined || deliveriesOf(seen, id) + (seen.pending.includes(id) ? 1 : 0) !== 1)
        yield `${text} was queued and must be in the inbox, or in the log once`
    },
  }
}

function deliveriesOf({ records }: AgentSeen, id: string): number {
  return records.filter((record) => record.kind === 'mail.delivered' && record.message_id === id).length
}

function spawnCommand(name: string): Command {
  return {
    argv: ['spawn', '--name', name],
    hasAcknowledged: ({ stdout }) => /^[0-9a-f-]{36}\n$/.test(stdout),
    *brokenPromises({ stdout }, home) {
      if (home.agent(stdout.trim()) === undefined) yield `the agent ${name} was acknowledged and must exist`
    },
  }
}

function setCommand(agent: string, title: string): Command {
  return {
    argv: ['set', agent, '--title', title],
    hasAcknowledged: ({ stdout }) => stdout.includes('is changed'),
    *brokenPromises(_ended, home) {
      const titles = home
        .agent(agent)
        ?.records.filter((record) => 'title' in record && record.title === title)
      if (titles?.length !== 1) yield `the title ${title} was acknowledged and must be in the log`
    },
  }
}

function forgetScan(home: string): void {
  const boots = join(home, 'boots')
  // btrfs keeps a new directory only if the directory, or an entry in it, was synced.
  if (!existsSync(boots)) return
  for (const name of readdirSync(boots)) rmSync(join(boots, name))
}
