/** An agent with a scripted model in its own home, its log, and the ways to kill its processes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionRecord } from '../../src/session/records.js'
import { waitFor } from '../../test/support/wait.js'
import { STRACE } from '../kill/strace.js'
import type { Ended, Lab, Started } from '../support/lab.js'
import { type LoopbackModel, type ModelProviderName, providerFlags } from '../support/model.js'

export interface ScriptedTool {
  name: string
  input: Record<string, unknown>
}

export interface ScriptedEntry {
  say?: string
  delay_ms?: number
  tools?: ScriptedTool[]
  items?: Record<string, unknown>[]
  fail?: { type: string; retry_after_ms?: number; attempts?: number }
}

export class Agent {
  private constructor(
    readonly lab: Lab,
    readonly home: string,
    readonly id: string,
    private readonly env: Record<string, string>,
  ) {}

  /** Named `a`, with the responses as its scenario. */
  static async spawn(
    lab: Lab,
    responses: ScriptedEntry[],
    flags: string[] = [],
    env: Record<string, string> = {},
  ): Promise<Agent> {
    const home = lab.newHome()
    const option = `scenario=${writeScenario(home, responses)}`
    const id = await lab.do(home, ...spawnOf('scripted', option), ...flags)
    return new Agent(lab, home, id, env)
  }

  /** The same, but a loopback model answers through a provider plugin. */
  static async spawnThrough(
    lab: Lab,
    provider: ModelProviderName,
    model: LoopbackModel,
    flags: string[] = [],
    env: Record<string, string> = {},
  ): Promise<Agent> {
    const home = lab.newHome()
    const options = await providerFlags(lab, home, provider, model.url)
    // The loopback needs no key, but the anthropic plugin requires one.
    const its = { ...env, ANTHROPIC_API_KEY: 'loopback' }
    const spawned = await lab.run(home, ['spawn', '--name', 'a', ...options, ...flags], { env: its })
    if (spawned.code !== 0) throw new Error(spawned.stderr)
    return new Agent(lab, home, spawned.stdout.trim(), its)
  }

  static async spawnProgram(lab: Lab, command: string): Promise<Agent> {
    const home = lab.newHome()
    const id = await lab.do(home, ...spawnOf('exec', `command=${command}`))
    return new Agent(lab, home, id, {})
  }

  /** Replaces the scenario from the next request on. */
  rewrite(responses: ScriptedEntry[]): void {
    writeScenario(this.home, responses)
  }

  get logPath(): string {
    return join(this.home, 'agents', this.id, 'events.jsonl')
  }

  /** The records of complete lines. */
  records(): SessionRecord[] {
    const lines = readFileSync(this.logPath, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as SessionRecord)
  }

  count(kind: SessionRecord['kind']): number {
    return this.records().filter((record) => record.kind === kind).length
  }

  waitForRecord(kind: SessionRecord['kind'], count = 1): Promise<void> {
    return waitFor(() => this.count(kind) >= count, `${count} ${kind}`)
  }

  start(...argv: string[]): Started {
    return this.lab.start(this.home, argv, { env: this.env })
  }

  /** Runs a command to its end; without a separate process if the lab avoids them. */
  run(...argv: string[]): Promise<Ended> {
    return this.lab.run(this.home, argv, { env: this.env })
  }

  /** Kills the command when the condition holds. */
  async runKilledWhen(isReached: () => Promise<void>, ...argv: string[]): Promise<void> {
    const { child, ended } = this.start(...argv)
    await isReached()
    child.kill('SIGKILL')
    await ended
  }

  /** Kills the command before its n-th write to the log. It ends by itself if it writes less often. */
  runKilledBefore(write: number, ...argv: string[]): Promise<Ended> {
    return this.runKilledAt('pwrite64', write, argv)
  }

  /** Kills the command after its n-th write to the log, before that write is synced and acknowledged. */
  runKilledAfter(write: number, ...argv: string[]): Promise<Ended> {
    return this.runKilledAt('fdatasync', write, argv)
  }

  private runKilledAt(syscall: string, n: number, argv: string[]): Promise<Ended> {
    const inject = `inject=${syscall}:signal=KILL:when=${n}`
    const under = [...STRACE, '-o', '/dev/null', '-P', this.logPath]
    return this.lab.run(this.home, argv, {
      under: [...under, '-e', `trace=${syscall}`, '-e', inject],
      env: this.env,
    })
  }
}

function spawnOf(provider: string, option: string): string[] {
  return ['spawn', '--name', 'a', '--provider', provider, '--option', option]
}

function writeScenario(home: string, responses: ScriptedEntry[]): string {
  const file = `${home}.scenario.json`
  writeFileSync(file, JSON.stringify({ responses }))
  return file
}
