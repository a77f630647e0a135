/**
 * The built CLI in a house of its own: home, HOME, XDG_* and a workspace in one temporary directory, removed after the
 * test file. `run` needs no process where the command can do without one; `start` starts one. Whatever a test leaves
 * running is killed by its pid then.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
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
import { messagesIn } from '../../src/mail/inbox.js'
import type { Message } from '../../src/mail/message.js'
import type { SessionRecord } from '../../src/session/records.js'
import { FileStore } from '../../src/storage/store.js'
import { Program } from './in-process.js'
import { waitFor } from './wait.js'

const ROOT = path.join(import.meta.dirname, '..', '..')
const RUN_JS = path.join(ROOT, 'bin', 'run.js')
const program = new Program(ROOT)

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
  /** What stdin holds; `open` is a pipe that never ends, by default it is /dev/null. */
  stdin?: string | Buffer | 'open'
  env?: Record<string, string>
  cwd?: string
  /** Another user, where we are root. */
  uid?: number
  /** `closed`: nobody reads, and the first write meets EPIPE. `unread`: a pipe that fills up. */
  stdout?: 'closed' | 'unread'
  stderr?: 'closed'
}

export interface Result {
  /** As a shell says it: 128 + n where a signal killed it. */
  exit: number
  stdout: string
  stderr: string
  /** stdout, where it is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: what a command prints is compared with what is expected
  json: any
}

export class House {
  readonly root = path.join(scratch, String(++houses))
  readonly home = path.join(this.root, 'home')
  readonly workspace = path.join(this.root, 'workspace')
  readonly env: Record<string, string>
  protected isOfProcesses = false
  private readonly pluginList = path.join(this.root, 'data', 'substrat', 'package.json')
  private arePluginsOurs = false

  /** Where each command is a process: for agents that kill or look at the process that runs them. */
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
      // What a turn still does after a signal, and what its tool does, is not cut short by a machine that is slow.
      SUBSTRAT_SHUTDOWN_GRACE: '1h',
      SUBSTRAT_TOOL_TIMEOUT: '1h',
      SUBSTRAT_HOME: this.home,
      // One for all houses: compiling the bundle anew takes 25 ms of every start.
      SUBSTRAT_CACHE_DIR: path.join(scratch, 'cache'),
      HOME: at('user'),
      XDG_CACHE_HOME: at('cache'),
      XDG_CONFIG_HOME: at('config'),
      XDG_DATA_HOME: at('data'),
      XDG_STATE_HOME: at('state'),
      ...env,
    }
  }

  /** Another house with a copy of this home. */
  copy(env: Record<string, string> = {}): House {
    const house = new House(env)
    // A killed holder leaves its socket, and Node cannot copy one.
    const filter = (file: string): boolean => !lstatSync(file).isSocket()
    cpSync(this.home, house.home, { recursive: true, filter })
    return house
  }

  /** Whether a command has made the home. */
  exists(): boolean {
    return existsSync(this.home)
  }

  /** Runs it to its end, without a process of its own where nothing in the options asks for one. */
  async run(args: string[], options: RunOptions = {}): Promise<Result> {
    const { stdin = '', cwd = this.workspace, uid, stdout, stderr } = options
    const env = { ...this.env, ...options.env }
    const isPlain = [uid, stdout, stderr].every((option) => option === undefined) && stdin !== 'open'
    // What a test has installed or linked by a command is loaded as it is by a process.
    const arePluginsOurs = this.arePluginsOurs || !existsSync(this.pluginList)
    if (this.isOfProcesses || !isPlain || !arePluginsOurs || !program.runs(args, env))
      return this.start(args, options).result
    return withJson(await program.run({ args, env, cwd, stdin }))
  }

  /** Starts a process. */

  start(args: string[], options: RunOptions = {}): Running {
    return this.launch(this.command(...args), options)
  }

  command(...args: string[]): [string, ...string[]] {
    return [process.execPath, RUN_JS, ...args]
  }

  /** Another program around the CLI, in the same house. */
  launch([program, ...args]: [string, ...string[]], options: RunOptions = {}): Running {
    const child = spawn(program, args, {
      cwd: options.cwd ?? this.workspace,
      env: { ...this.env, ...options.env },
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
      stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    children.add(child)
    child.stdin?.on('error', () => undefined)
    if (options.stdin !== undefined && options.stdin !== 'open') child.stdin?.end(options.stdin)
    return new Running(child, options)
  }

  /** A new agent; its uuid. */
  async spawn(name: string, ...flags: string[]): Promise<string> {
    const { exit, stdout, stderr } = await this.run(['spawn', '--name', name, ...flags])
    expect(exit, stderr).toBe(0)
    return stdout.trim()
  }

  /** Runs it and expects that it goes well. */
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

  /** Undefined where a program has not written it yet. */
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
   * A provider plugin, linked as `substrat plugins link` links it. `source` is its module: in a house of processes where it
   * uses `process` or `console`, or leaves something running.
   */
  plugin(name: string, source: string): void {
    const root = path.join(this.root, name)
    mkdirSync(root, { recursive: true })
    // This process loads a module of one name once.
    const isFirst = !existsSync(path.join(root, 'index.js'))
    const module = isFirst ? './index.js' : `./index-${++modules}.js`
    const substrat = { providers: { [name]: module } }
    const oclif = { commands: './commands' }
    writeFileSync(
      path.join(root, 'package.json'),
      JSON.stringify({ name, version: '1.0.0', type: 'module', oclif, substrat }),
    )
    writeFileSync(path.join(root, module), source)
    mkdirSync(path.dirname(this.pluginList), { recursive: true })
    const plugins = [{ name, type: 'link', root }]
    writeFileSync(this.pluginList, JSON.stringify({ oclif: { schema: 1, plugins } }))
    this.arePluginsOurs = true
  }

  agentFile(id: string, name: string): string {
    return path.join(this.home, 'agents', id, name)
  }

  log(id: string): string {
    return readFileSync(this.agentFile(id, 'events.jsonl'), 'utf8')
  }

  logBytes(id: string): Buffer {
    return readFileSync(this.agentFile(id, 'events.jsonl'))
  }

  records(id: string): SessionRecord[] {
    const lines = this.log(id).split('\n')
    // What stands after the last newline is being written.
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

  /** Until the last time for which its turn waits, or until which its token is good, has passed. */
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
    return readdirSync(this.agentFile(id, 'inbox'))
  }

  /** What was written to the person, oldest first. */
  operatorMail(): Message[] {
    const store = FileStore.openForRead(this.home)
    const mails = store === undefined ? [] : [...messagesIn(store, 'operator')]
    return mails.sort((a, b) => (a.created_at < b.created_at ? -1 : 1))
  }

  /** Says, as a writer that died would have, that something may be owed to the agent. */
  mark(id: string): void {
    this.writeHome(`unclean/${id}`, '')
  }

  writeHome(name: string, bytes: string | Buffer): void {
    writeFileSync(path.join(this.home, name), bytes)
  }

  /** Changes the log behind substrat's back. */
  damage(id: string, change: (log: string) => string | Buffer): void {
    writeFileSync(this.agentFile(id, 'events.jsonl'), change(this.log(id)))
  }

  /** The log of every agent, for comparison. */
  logs(): Record<string, string> {
    const ids = readdirSync(path.join(this.home, 'agents')).filter((name) => !name.startsWith('.'))
    return Object.fromEntries(ids.map((id) => [id, this.log(id)]))
  }

  findings(isRecovered = false): Finding[] {
    return checkHome(FileStore.openForRead(this.home) as FileStore, { isRecovered })
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
      // A pipe that is held open by what the command left running must not hide that the command has ended.
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

  /** What the command wrote is in the pipes when it has ended, and each turn of the event loop reads them. */
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

/** Not enumerable, so that it is no part of a comparison. */
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
