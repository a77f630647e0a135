/**
 * acpx, the nearest peer: a command-line client for agents that speak ACP, with named sessions, each with a queue
 * owner.
 */
import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { processesWith } from '../../test/support/processes.js'
import { install } from '../real/install.js'
import { commandOf } from '../real/kills/targets.js'
import type { RealProgram } from '../real/program.js'
import { Trial } from '../real/trial.js'
import type { Ended, Started } from '../support/lab.js'

/** It needs a newer Node than this machine may have. */
const ACPX = { packages: { acpx: '0.19.1', node: '22.13.1' }, executable: 'acpx' }
const SESSION = 'k'
const COMMAND_MS_MAX = 60_000
const OWN = /node_modules\/(\.bin\/)?acpx/

export class Acpx {
  private number = 0

  private constructor(
    readonly trial: Trial,
    private readonly executable: string,
    private readonly agent: string,
  ) {}

  static async open(program: RealProgram, agentWords: string): Promise<Acpx> {
    const [executable, agent] = [await install(ACPX), await install(program)]
    return new Acpx(await Trial.open(program, agent), executable, `${agent}${agentWords}`)
  }

  /** Opens a new, empty session. */
  async begin(): Promise<void> {
    this.number += 1
    const { code, stderr } = await this.start(['sessions', 'new', '--name', this.session]).ended
    if (code !== 0) throw new Error(`acpx sessions new ended with ${code}: ${stderr.slice(0, 300)}`)
  }

  prompt(text: string): Started {
    return this.start(['prompt', '-s', this.session, text])
  }

  /** The processes that it started and that still run. */
  all(): number[] {
    return processesWith(this.mark)
  }

  /** Its own processes: the command, and the queue owner of the session. */
  own(): number[] {
    return this.all().filter((pid) => OWN.test(commandOf(pid)))
  }

  /** The number of fsync and fdatasync calls on its own files for one prompt. */
  async countSyncs(text: string, trace: string): Promise<number> {
    const strace = ['strace', '-f', '-qq', '-y', '-e', 'trace=fsync,fdatasync', '-o', trace]
    await this.start(['prompt', '-s', this.session, text], strace, ['--ttl', '1']).ended
    const lines = readFileSync(trace, 'utf8').split('\n')
    return lines.filter((line) => /f(data)?sync\(\d+<[^>]*\/\.acpx\b/.test(line)).length
  }

  async version(): Promise<string> {
    const { env } = this
    return (await promisify(execFile)(this.executable, ['--version'], { env })).stdout.trim()
  }

  private get session(): string {
    return `${SESSION}${this.number}`
  }

  private get mark(): string {
    return `ACPX_LAB=${this.trial.substratHome}`
  }

  private get env(): Record<string, string> {
    const user = this.trial.userEnvironment
    const [name, value] = this.mark.split('=') as [string, string]
    return { ...user, [name]: value, PATH: `${dirname(this.executable)}:${user.PATH}` }
  }

  private start(argv: string[], under: string[] = [], flags: string[] = []): Started {
    const { workspace } = this.trial.place
    const general = [
      '--agent',
      this.agent,
      '--cwd',
      workspace,
      '--approve-all',
      '--format',
      'quiet',
      ...flags,
    ]
    const [file, ...words] = [...under, this.executable, ...general, ...argv] as [string, ...string[]]
    const options = { cwd: workspace, env: this.env, timeout: COMMAND_MS_MAX, killSignal: 'SIGKILL' } as const
    const child = spawn(file, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const text = { stdout: '', stderr: '' }
    child.stdout.on('data', (piece) => (text.stdout += piece))
    child.stderr.on('data', (piece) => (text.stderr += piece))
    const ended = new Promise<Ended>((resolve, reject) => {
      child.on('error', reject)
      // Its queue owner may hold the pipes open.
      child.on('exit', (code, signal) => resolve({ code, signal, ...text }))
    })
    return { child, ended }
  }
}
