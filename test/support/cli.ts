/**
 * The built CLI in its own house: home, HOME, XDG_* and a workspace in one temporary directory, removed after the test
 * file.
 *
 * `run` avoids a process if the command can do without one; `start` always starts one. After the test file, processes
 * that still run are killed by pid.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterAll, expect } from 'vitest'
import { checkHome, type Finding } from '../../src/audit/check.js'
import type { Message } from '../../src/mail/message.js'
import { messagesIn } from '../../src/mail/stored-messages.js'
import type { SessionRecord } from '../../src/session/records.js'
import { reachableCheckout } from './another-user.js'
import { copyTree } from './copy-tree.js'
import { Program } from './in-process.js'
import { checkPrinted } from './output-shapes.js'
import { assertInFiles, IN_POSTGRES, LINKED, newHomeInPostgres, storeAt } from './postgres-homes.js'
import { SHARED_CACHE } from './shared-cache.js'
import { waitFor } from './wait.js'

const ROOT = path.join(import.meta.dirname, '..', '..')
const RUN_JS = path.join(ROOT, 'bin', 'run.js')
const program = Program.of(ROOT)

const scratch = mkdtempSync(path.join(tmpdir(), 'substrat-cli-'))
// A test may run the CLI as another user.
chmodSync(scratch, 0o755)
const children = new Set<ChildProcess>()
let houses = 0
let modules = 0

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
})

export interface RunOptions {
  /** The content of stdin; `open` is a pipe that never ends; the default is /dev/null. */
  stdin?: string | Buffer | 'open'
  env?: Record<string, string>
  cwd?: string
  /** Another user id; requires root. */
  uid?: number
  /** `closed`: the pipe has no reader, so the first write fails with EPIPE. `unread`: a pipe that fills up. */
  stdout?: 'closed' | 'unread'
  stderr?: 'closed'
  /** A descriptor of this process that becomes descriptor 3. */
  inherits?: number
}

export interface Result {
  /** As a shell reports it: 128 + n if a signal killed the command. */
  exit: number
  stdout: string
  stderr: string
  /** stdout parsed as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: what a command prints is compared with what is expected
  json: any
}

export class House {
  readonly root = path.join(scratch, String(++houses))
  /** With SUBSTRAT_TEST_HOMES, the URL of a home in PostgreSQL. */
  readonly home = IN_POSTGRES ? newHomeInPostgres() : path.join(this.root, 'home')
  readonly workspace = path.join(this.root, 'workspace')
  readonly env: Record<string, string>
  protected isOfProcesses = IN_POSTGRES
  private readonly pluginList = path.join(this.root, 'data', 'substrat', 'package.json')
  private arePluginsOurs = false

  /** A house where each command is a process, for agents that kill or inspect the process that runs them. */
  static ofProcesses(env: Record<string, string> = {}): House {
    const house = new House(env)
    house.isOfProcesses = true
    return house
  }

  constructor(env: Record<string, string> = {}) {
    mkdirSync(this.workspace, { recursive: true })
    const at = (name: string): string => path.join(this.root, name)
    this.env = {
      PATH: process.env.PATH ?? '',
      TMPDIR: process.env.TMPDIR ?? '/tmp',
      NODE_ENV: 'production',
      TZ: 'UTC',
      // A long grace period, so that a slow machine does not cut off the end of a turn or of its tool.
      SUBSTRAT_SHUTDOWN_GRACE: '1h',
      SUBSTRAT_TOOL_TIMEOUT: '1h',
      SUBSTRAT_HOME: this.home,
      // Most tests need some agent, and do not care who answers.
      SUBSTRAT_PROVIDER: 'scripted',
      SUBSTRAT_CACHE_DIR: process.env[SHARED_CACHE] ?? path.join(scratch, 'cache'),
      HOME: at('user'),
      XDG_CACHE_HOME: at('cache'),
      XDG_CONFIG_HOME: at('config'),
      XDG_DATA_HOME: at('data'),
      XDG_STATE_HOME: at('state'),
      ...env,
    }
    if (IN_POSTGRES) this.link()
  }

  /** Another house with a copy of this home. */
  copy(env: Record<string, string> = {}): House {
    assertInFiles()
    const house = new House(env)
    copyTree(this.home, house.home)
    return house
  }

  /** Whether a command has created the home. */
  exists(): boolean {
    return IN_POSTGRES || existsSync(this.home)
  }

  /**
   * Runs the command to its end, without a separate process unless the options need one. Fails if its JSON does not have
   * the shape in src/schema.
   */
  async run(args: string[], options: RunOptions = {}): Promise<Result> {
    const result = await this.runUnchecked(args, options)
    checkPrinted(args, result.stdout)
    return result
  }

  private async runUnchecked(args: string[], options: RunOptions): Promise<Result> {
    const { stdin = '', cwd = this.workspace, uid, stdout, stderr } = options
    const env = { ...this.env, ...options.env }
    const isPlain = [uid, stdout, stderr].every((option) => option === undefined) && stdin !== 'open'
    // Plugins that a test installed or linked by a command are loaded as in a process.
    const arePluginsOurs = this.arePluginsOurs || !existsSync(this.pluginList)
    if (this.isOfProcesses || !isPlain || !arePluginsOurs || !program.runs(args, env))
      return this.start(args, options).result
    return withJson(await program.run({ args, env, cwd, stdin }))
  }

  /** Starts a process. */

  start(args: string[], options: RunOptions = {}): Running {
    // Another user may be unable to reach the checkout.
    const program = options.uid === undefined ? RUN_JS : path.join(reachableCheckout(), 'bin', 'run.js')
    return this.launch([process.execPath, program, ...args], options)
  }

  command(...args: string[]): [string, ...string[]] {
    return [process.execPath, RUN_JS, ...args]
  }

  /** Starts another program around the CLI, in the same house. */
  launch([program, ...args]: [string, ...string[]], options: RunOptions = {}): Running {
    const child = spawn(program, args, {
      cwd: options.cwd ?? this.workspace,
      env: { ...this.env, ...options.env },
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
      stdio: [
        options.stdin === undefined ? 'ignore' : 'pipe',
        'pipe',
        'pipe',
        ...(options.inherits === undefined ? [] : [options.inherits]),
      ],
    })
    children.add(child)
    child.stdin?.on('error', () => undefined)
    if (options.stdin !== undefined && options.stdin !== 'open') child.stdin?.end(options.stdin)
    return new Running(child, options)
  }

  /** Spawns an agent; returns its uuid. */
  async spawn(name: string, ...flags: string[]): Promise<string> {
    const { exit, stdout, stderr } = await this.run(['spawn', '--name', name, ...flags])
    expect(exit, stderr).toBe(0)
    return stdout.trim()
  }

  /** Runs the command and expects it to succeed. */
  async ok(...args: string[]): Promise<Result> {
    const result = await this.run(args)
    expect(result.exit, `${args.join(' ')}: ${result.stderr}`).toBe(0)
    return result
  }

  write(name: string, text: string): string {
    const file = path.join(this.workspace, name)
    writeFileSync(file, text)
    return file
  }

  /** Undefined until a program has written it. */
  read(name: string): string | undefined {
    try {
      return readFileSync(path.join(this.workspace, name), 'utf8')
    } catch {
      return undefined
    }
  }

  scenario(name: string, ...responses: object[]): string {
    this.write(name, JSON.stringify({ responses }))
    return `scenario=${name}`
  }

  /**
   * Links a provider plugin like `substrat plugins link`. `source` is its module, also a CommonJS one. If the module uses
   * `process` or `console`, or leaves something running, the house must use processes.
   */
  plugin(name: string, source: string): void {
    const root = path.join(this.root, name)
    mkdirSync(root, { recursive: true })
    // This process loads a module of one name only once.
    const type = /module\.exports ?=/.test(source) ? 'cjs' : 'js'
    const isFirst = !existsSync(path.join(root, `index.${type}`))
    const module = isFirst ? `./index.${type}` : `./index-${++modules}.${type}`
    const substrat = { providers: { [name]: module } }
    writeFileSync(
      path.join(root, 'package.json'),
      JSON.stringify({ name, version: '1.0.0', type: 'module', oclif: {}, substrat }),
    )
    writeFileSync(path.join(root, module), source)
    this.link({ name, type: 'link', root })
    this.arePluginsOurs = true
  }

  private link(...more: object[]): void {
    mkdirSync(path.dirname(this.pluginList), { recursive: true })
    const plugins = [...LINKED, ...more]
    writeFileSync(this.pluginList, JSON.stringify({ oclif: { schema: 1, plugins } }))
  }

  agentFile(id: string, name: string): string {
    assertInFiles()
    return path.join(this.home, 'agents', id, name)
  }

  log(id: string): string {
    return this.logBytes(id).toString()
  }

  logBytes(id: string): Buffer {
    if (!IN_POSTGRES) return readFileSync(this.agentFile(id, 'events.jsonl'))
    const log = storeAt(this.home).openLog(id)
    try {
      return log?.read(0, log.size()) ?? Buffer.alloc(0)
    } finally {
      log?.close()
    }
  }

  records(id: string): SessionRecord[] {
    const lines = this.log(id).split('\n')
    // The text after the last newline is still being written.
    return lines.slice(0, -1).map((line) => {
      const { crc: _, ...record } = JSON.parse(line)
      return record as SessionRecord
    })
  }

  kinds(id: string): string[] {
    return this.records(id).map(({ kind }) => kind)
  }

  count(id: string, kind: string): number {
    return this.kinds(id).filter((found) => found === kind).length
  }

  /** Waits until the deadlines of the agent's turn and of its token have passed. */
  waitForTime(id: string): Promise<void> {
    const times = this.records(id).flatMap((record) => {
      if (record.kind === 'run.waiting') return [record.not_before ?? record.deadline_at ?? '']
      return record.kind === 'token.minted' ? [record.expires_at] : []
    })
    const last = times.reduce((latest, time) => (time > latest ? time : latest), '')
    return waitFor(() => new Date().toISOString() > last, last)
  }

  waitForRecord(id: string, kind: string, count = 1): Promise<void> {
    return waitFor(() => this.count(id, kind) >= count, `${count} ${kind} in the log`)
  }

  inbox(id: string): string[] {
    if (IN_POSTGRES)
      return storeAt(this.home)
        .mail.ids(id)
        .map((each) => `${each}.json`)
    return readdirSync(this.agentFile(id, 'inbox'))
  }

  /** Messages to the operator, oldest first. */
  operatorMail(): Message[] {
    const mails = this.exists() ? [...messagesIn(storeAt(this.home), 'operator')] : []
    return mails.sort((a, b) => (a.created_at < b.created_at ? -1 : 1))
  }

  /** Marks the agent, as a writer that died would have. */
  mark(id: string): void {
    this.writeHome(`unclean/${id}`, '')
  }

  writeHome(name: string, bytes: string | Buffer): void {
    assertInFiles()
    writeFileSync(path.join(this.home, name), bytes)
  }

  /** Changes the log without substrat. */
  damage(id: string, change: (log: string) => string | Buffer): void {
    writeFileSync(this.agentFile(id, 'events.jsonl'), change(this.log(id)))
  }

  /** The log of every agent, for comparison. */
  logs(): Record<string, string> {
    return Object.fromEntries(this.ids().map((id) => [id, this.log(id)]))
  }

  /** The ids of the agents, also in a home that this version does not read. */
  ids(): string[] {
    if (IN_POSTGRES) return storeAt(this.home).agentIds()
    return readdirSync(path.join(this.home, 'agents')).filter((name) => !name.startsWith('.'))
  }

  findings(isRecovered = false): Finding[] {
    return checkHome(storeAt(this.home), { isRecovered })
  }
}

export class Running {
  stdout = ''
  stderr = ''
  readonly result: Promise<Result>

  constructor(
    readonly child: ChildProcess,
    options: RunOptions,
  ) {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    if (options.stdout === 'closed') child.stdout?.destroy()
    if (options.stderr === 'closed') child.stderr?.destroy()
    if (options.stdout === undefined)
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        this.stdout += text
      })
    this.result = new Promise((resolve, reject) => {
      child.once('error', reject)
      // Does not wait for the pipe, because a program that the command left may hold it open.
      child.once('exit', (code, signal) => {
        children.delete(child)
        const settle = (): void => resolve(this.settled(code, signal))
        if (child.stdout?.readableEnded !== false && child.stderr?.readableEnded !== false) settle()
        else void this.quiet().then(settle)
        child.once('close', settle)
      })
    })
  }

  get pid(): number {
    return this.child.pid as number
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Result> {
    this.child.kill(signal)
    return this.result
  }

  says(text: string): Promise<void> {
    return waitFor(() => this.stderr.includes(text), `${JSON.stringify(text)} on stderr`)
  }

  /** When the command has ended, its output is in the pipes. Each turn of the event loop reads some of it. */
  private async quiet(): Promise<void> {
    const bytes = (): number => this.stdout.length + this.stderr.length
    for (let calm = 0, before = -1; calm < 20; calm = bytes() === before ? calm + 1 : 0) {
      before = bytes()
      await setImmediate()
    }
  }

  private settled(code: number | null, signal: NodeJS.Signals | null): Result {
    const { stdout, stderr } = this
    const numbers: Partial<Record<NodeJS.Signals, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }
    const exit = code ?? 128 + (numbers[signal as NodeJS.Signals] ?? 0)
    return withJson({ exit, stdout, stderr })
  }
}

/** Not enumerable, so that comparisons ignore it. */
function withJson(ended: Omit<Result, 'json'>): Result {
  return Object.defineProperty(ended, 'json', { value: parsed(ended.stdout) }) as Result
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
