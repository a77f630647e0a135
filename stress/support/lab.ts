/**
 * A lab for real processes of the CLI: its own installation, a warmed compile cache, and homes, all under one temporary
 * directory. With its own installation a rebuild of `dist` does not disturb the lab, and a mutant can run.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Program } from '../../test/support/in-process.js'

export interface Ended {
  /** Null if a signal ended it. */
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface Started {
  child: ChildProcess
  ended: Promise<Ended>
}

export interface RunOptions {
  /** A program and its arguments that run the command, such as strace. */
  under?: string[]
  env?: Record<string, string>
  /** Whether it leads its own process group, so that the whole group can be killed. */
  ownGroup?: boolean
  /** It is killed after this time. */
  timeoutMs?: number
}

/** The socket of a database, and its name. */
const DATABASE = /^postgres:\/\/[^/]*\/(?<name>\w+)\?host=(?<directory>[^&]+)/

/** The name of the database of a home at a URL. */
export function databaseOf(home: string): string {
  return DATABASE.exec(home)?.groups?.name as string
}

/** A file outside the home that belongs to it: the effects of its tools, or a printed token. */
export function pathBeside(home: string, name: string): string {
  const database = DATABASE.exec(home)?.groups
  return database === undefined
    ? `${home}.${name}`
    : join(database.directory as string, `${database.name}.${name}`)
}

/** The names of these files. */
export function namesBeside(home: string): string[] {
  const none = pathBeside(home, '')
  const names = readdirSync(dirname(none)).filter((name) => name.startsWith(basename(none)))
  return names.map((name) => name.slice(basename(none).length))
}

export function copyBeside(home: string, copy: string): void {
  for (const name of namesBeside(home)) cpSync(pathBeside(home, name), pathBeside(copy, name))
}

export function removeBeside(home: string): void {
  for (const name of namesBeside(home)) rmSync(pathBeside(home, name))
}

export const repository = dirname(createRequire(import.meta.url).resolve('substrat/package.json'))

const RUN_MS_MAX = 120_000
/** The files of the program besides its bundle. */
const COPIED = [
  'bin/run.js',
  'bin/package.json',
  'dist/start.cjs',
  'dist/mcp.cjs',
  'dist/thread.cjs',
  'package.json',
  'oclif.manifest.json',
]

export class Lab {
  readonly cli: string
  readonly workspace: string
  private homes = 0
  private readonly plugins: { type: 'link'; name: string; root: string }[] = []
  private program: Program | undefined

  private constructor(readonly root: string) {
    this.cli = join(root, 'cli', 'bin', 'run.js')
    this.workspace = join(root, 'workspace')
  }

  /** `sources`: replacement texts for files of src/. A canary uses them and must be caught. */
  static open(sources?: ReadonlyMap<string, string>): Lab {
    const lab = new Lab(mkdtempSync(join(tmpdir(), 'substrat-lab-')))
    try {
      lab.fill(sources)
      return lab
    } catch (error) {
      // Runs if a change does not build.
      lab.close()
      throw error
    }
  }

  private fill(sources?: ReadonlyMap<string, string>): void {
    for (const directory of ['cli/bin', 'cli/dist', 'user', 'workspace'])
      mkdirSync(join(this.root, directory), { recursive: true })
    for (const file of COPIED) cpSync(join(repository, file), join(this.root, 'cli', file))
    const bundle = join(this.root, 'cli/dist/substrat.cjs')
    if (sources === undefined) cpSync(join(repository, 'dist/substrat.cjs'), bundle)
    else buildBroken(bundle, sources)
    symlinkSync(join(repository, 'node_modules'), join(this.root, 'cli/node_modules'))
  }

  close(): void {
    rmSync(this.root, { recursive: true, force: true })
  }

  /** Writes the same file as `substrat plugins link`. */
  linkPlugin(name: string, root: string): void {
    this.plugins.push({ type: 'link', name, root })
    const data = join(this.root, 'user', 'data', 'substrat')
    mkdirSync(data, { recursive: true })
    const facts = {
      name: 'substrat',
      private: true,
      dependencies: {},
      oclif: { schema: 1, plugins: this.plugins },
    }
    writeFileSync(join(data, 'package.json'), JSON.stringify(facts))
  }

  /** The path of a home that does not exist yet. */
  newHome(): string {
    this.homes += 1
    return join(this.root, `home-${this.homes}`)
  }

  /** A fresh copy with file times, and with the files beside the home. Also works if the home does not exist yet. */
  copyHome(home: string): string {
    const copy = this.newHome()
    // A killed holder leaves its socket, which Node cannot copy.
    const filter = (file: string): boolean => !lstatSync(file).isSocket()
    if (existsSync(home)) cpSync(home, copy, { recursive: true, preserveTimestamps: true, filter })
    copyBeside(home, copy)
    return copy
  }

  /** Includes the files beside it. */
  removeHome(home: string): void {
    rmSync(home, { recursive: true, force: true })
    removeBeside(home)
  }

  /** The environment of a user who has nothing but this lab. */
  environment(home: string): Record<string, string> {
    const user = join(this.root, 'user')
    return {
      PATH: process.env.PATH ?? '',
      HOME: user,
      XDG_CACHE_HOME: join(user, 'cache'),
      XDG_CONFIG_HOME: join(user, 'config'),
      XDG_DATA_HOME: join(user, 'data'),
      SUBSTRAT_HOME: home,
      SUBSTRAT_LAB_BESIDE: pathBeside(home, ''),
      SUBSTRAT_PROVIDER: 'scripted',
    }
  }

  /**
   * From here on `run` uses no separate process. Samples that are part of the tests start processes only where they act
   * on one.
   */
  runInProcess(): void {
    this.program = new Program(join(this.root, 'cli'))
  }

  /** Runs `substrat ARGV` to its end. */
  async run(home: string, argv: string[], options: RunOptions = {}): Promise<Ended> {
    const { under = [], env: its, ownGroup = false } = options
    const env = { ...this.environment(home), ...its }
    if (under.length > 0 || ownGroup || this.program?.runs(argv, env) !== true)
      return this.start(home, argv, options).ended
    const world = { args: argv, env, cwd: this.workspace, stdin: '' }
    const { exit, ...said } = await this.program.run(world)
    return { code: exit, signal: null, ...said }
  }

  /** Starts `substrat ARGV`. */
  start(home: string, argv: string[], options: RunOptions = {}): Started {
    const { under = [], env = {}, ownGroup = false, timeoutMs = RUN_MS_MAX } = options
    const [program, ...words] = [...under, process.execPath, this.cli, ...argv] as [string, ...string[]]
    const child = spawn(program, words, {
      cwd: this.workspace,
      env: { ...this.environment(home), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: ownGroup,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    })
    const out = gather(child.stdout)
    const err = gather(child.stderr)
    const ended = new Promise<Ended>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code, signal) => resolve({ code, signal, stdout: out(), stderr: err() }))
    })
    return { child, ended }
  }

  /** Like `run`, but throws if the command fails. For preparations. */
  async do(home: string, ...argv: string[]): Promise<string> {
    const ended = await this.run(home, argv)
    if (ended.code !== 0) throw new Error(`substrat ${argv.join(' ')} exited ${ended.code}: ${ended.stderr}`)
    return ended.stdout.trim()
  }

  /**
   * Runs each command once to fill the compile cache. A first run writes the cache, and would distort a measurement or
   * a kill.
   */
  async warm(): Promise<void> {
    const home = this.newHome()
    const commands = [
      ['spawn', '--name', 'warm'],
      ['send', 'warm', 'hello'],
      ['show', 'warm'],
      ['suspend', 'warm'],
      ['resume', 'warm'],
      ['recover', '--all'],
      ['terminate', 'warm'],
    ]
    for (const argv of commands) await this.do(home, ...argv)
    rmSync(home, { recursive: true })
  }

  /** Makes the compile cache look two days old. */
  ageCode(): void {
    const then = Date.now() / 1000 - 2 * 24 * 3600
    const directory = join(this.root, 'user', 'cache', 'substrat')
    for (const name of readdirSync(directory)) utimesSync(join(directory, name), then, then)
  }
}

function buildBroken(bundle: string, sources: ReadonlyMap<string, string>): void {
  const build = [join(repository, 'esbuild.config.mjs'), '--broken', bundle]
  execFileSync(process.execPath, build, { input: JSON.stringify([...sources]) })
}

function gather(stream: NodeJS.ReadableStream): () => string {
  const pieces: Buffer[] = []
  stream.on('data', (piece: Buffer) => pieces.push(piece))
  return () => Buffer.concat(pieces).toString('utf8')
}
