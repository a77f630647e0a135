/**
 * Runs the built CLI without a separate process: the bundle that bin/run.js starts, evaluated anew for each command,
 * with its own environment, directory, streams and exit status. Several commands may run at once. A start of Node costs
 * ten times as much as most commands.
 *
 * These need a real process: signals, death, real output, two processes, and anything that depends on the pid.
 */
import childProcess from 'node:child_process'
import { Console } from 'node:console'
import { EventEmitter } from 'node:events'
import nodeFs, { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import os from 'node:os'
import nodePath from 'node:path'
import { Readable, Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { constants, Script } from 'node:vm'
import type { Starter } from '../../src/start/starter.js'

const LOADER = { importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER }
const PARAMETERS = 'exports, require, module, __filename, __dirname, process, console'

export interface World {
  args: string[]
  env: Record<string, string>
  cwd: string
  stdin: string | Buffer
  /** Gets the events of the command's process. An emitted signal reaches the handlers of the command, as the kernel's does. */
  onStart?(events: EventEmitter): void
}

interface Ended {
  exit: number
  stdout: string
  stderr: string
}

const PROGRAMS = Symbol.for('substrat.test.programs')

type Bundle = { COMMANDS: Record<string, unknown>; main(root: string, starter: Starter): Promise<void> }

/** An installation of the program. Its bundle is compiled once. */
export class Program {
  /**
   * The test files of a worker process share a program: each file has new modules, and compiling the bundle again takes as long
   * as twenty commands.
   */
  static of(root: string): Program {
    const shared = globalThis as { [PROGRAMS]?: Map<string, Program> }
    const programs = shared[PROGRAMS] ?? new Map<string, Program>()
    shared[PROGRAMS] = programs
    const program = programs.get(root) ?? new Program(root)
    programs.set(root, program)
    return program
  }

  readonly #root: string
  readonly #file: string
  readonly #require: NodeJS.Require
  /** Node's own import, not vitest's; names resolve relative to bin/run.js. */
  readonly #importModule: unknown
  #script: Script | undefined
  #commands: string[] | undefined

  constructor(root: string) {
    this.#root = root
    this.#file = nodePath.join(root, 'dist', 'substrat.cjs')
    this.#require = createRequire(this.#file)
    this.#importModule = new Script('(specifier) => import(specifier)', {
      filename: nodePath.join(root, 'bin', 'run.js'),
      ...LOADER,
    }).runInThisContext()
  }

  /** Whether the command is built in, and uses the common entry point. */
  runs(args: string[], env: Record<string, string>): boolean {
    const [first = '', second] = args
    this.#commands ??= Object.keys(this.#load({ args, env, cwd: this.#root, stdin: '' }).bundle.COMMANDS)
    const isOurs = this.#commands.some((id) => id === first || id === `${first}:${second}`)
    return isOurs && first !== 'mcp' && env.DEBUG === undefined
  }

  async run(world: World): Promise<Ended> {
    // Commands in a loop share this process with others, which get their turn here, as between processes.
    await setImmediate()
    const { own, bundle } = this.#load(world)
    const exited = new Promise<number>((resolve) => own.once('exit', resolve))
    world.onStart?.(own)
    // The command ends by an exit, which throws here.
    const starter = { whyUntrusted: () => undefined, requireSaved: undefined, thread: undefined }
    bundle.main(this.#root, starter).catch((error: unknown) => {
      if (error === EXIT) return
      own.stderr.write(String(Object(error).stack))
      own.emit('exit', 70)
    })
    const exit = await exited
    return { exit, stdout: own.stdout.text(), stderr: own.stderr.text() }
  }

  #load(world: World): { own: VirtualProcess; bundle: Bundle } {
    const own = new VirtualProcess(world, this.#require, nodePath.join(this.#root, 'bin', 'run.js'))
    const file = this.#file
    this.#script ??= new Script(`(function (${PARAMETERS}) {${readFileSync(file, 'utf8')}\n})`, {
      filename: file,
      ...LOADER,
    })
    const bundle = Object.assign(new Module(file), {
      filename: file,
      importModule: this.#importModule,
    }) as Module & {
      exports: Bundle
    }
    const evaluate = this.#script.runInThisContext()
    evaluate(bundle.exports, own.require, bundle, file, nodePath.dirname(file), own.asProcess(), own.console)
    // oclif loads the commands from this file by name, and must get this instance, not a second one.
    own.modules[file] = bundle.exports
    return { own, bundle: bundle.exports }
  }
}

const EXIT = new Error('the command has ended')

class VirtualProcess extends EventEmitter {
  exitCode: number | undefined
  readonly stdout = new Output()
  readonly stderr = new Output()
  readonly console = new Console(this.stdout, this.stderr)
  /** Replacements for modules that `require` returns, by name. */
  readonly modules: Record<string, unknown>

  constructor(
    private readonly world: World,
    private readonly realRequire: NodeJS.Require,
    private readonly runJs: string,
  ) {
    super()
    const { cwd, env } = world
    const resolve = (...parts: string[]): string => nodePath.resolve(cwd, ...parts)
    const relative = (from: string, to: string): string => nodePath.relative(resolve(from), resolve(to))
    const spawn = withDefaults(childProcess.spawn, world)
    const spawnSync = withDefaults(childProcess.spawnSync, world)
    this.modules = {
      path: { ...nodePath, resolve, relative },
      fs: fsAt(cwd),
      os: { ...os, homedir: () => env.HOME ?? os.homedir(), tmpdir: () => env.TMPDIR ?? '/tmp' },
      child_process: { ...childProcess, spawn, spawnSync },
    }
  }

  get require(): unknown {
    return Object.assign((id: string): unknown => this.builtin(id) ?? this.realRequire(id), this.realRequire)
  }

  asProcess(): NodeJS.Process {
    const { env, cwd, args, stdin } = this.world
    const emitter = Object.fromEntries(
      (['on', 'once', 'off', 'emit', 'removeAllListeners', 'listeners', 'listenerCount'] as const).map(
        (name) => [name, this[name].bind(this)],
      ),
    )
    const own = {
      ...emitter,
      argv: [process.execPath, this.runJs, ...args],
      env: { ...env },
      cwd: () => cwd,
      stdin: Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]),
      stdout: this.stdout,
      stderr: this.stderr,
      exitCode: undefined as number | undefined,
      exit: (code?: number): never => {
        this.emit('exit', code ?? virtual.exitCode ?? 0)
        throw EXIT
      },
      getBuiltinModule: (id: string): unknown => this.builtin(id) ?? process.getBuiltinModule(id),
    }
    const virtual = Object.create(process, Object.getOwnPropertyDescriptors(own)) as unknown as NodeJS.Process
    this.modules.process = virtual
    return virtual
  }

  private builtin(id: string): unknown {
    const name = id.replace(/^node:/, '')
    return Object.hasOwn(this.modules, name) ? this.modules[name] : undefined
  }
}

/** Functions whose second argument is a path as well. */
const TWO_NAMES = new Set(['renameSync', 'linkSync', 'copyFileSync', 'symlinkSync'])

/** A relative path is relative to the command's directory. */
function fsAt(cwd: string): object {
  return new Proxy(nodeFs, {
    get(fs, name: keyof typeof nodeFs) {
      const member: unknown = fs[name]
      if (typeof member !== 'function' || !name.endsWith('Sync')) return member
      // The first argument of symlink is the link's text, not a path to resolve.
      const at = (word: unknown, place: number): unknown =>
        typeof word === 'string' && (place === 0 ? name !== 'symlinkSync' : TWO_NAMES.has(name))
          ? nodePath.resolve(cwd, word)
          : word
      return (first: unknown, second: unknown, ...rest: unknown[]) =>
        (member as (...args: unknown[]) => unknown)(at(first, 0), at(second, 1), ...rest)
    },
  })
}

/** Child processes get the command's environment and directory by default. */
function withDefaults(start: unknown, { cwd, env }: World): unknown {
  const call = start as (program: string, args: string[], options: object) => unknown
  return (program: string, args: string[], options: object = {}) =>
    call(program, args, { cwd, env, ...options })
}

class Output extends Writable {
  private readonly pieces: Buffer[] = []

  override _write(piece: Buffer, _: string, done: () => void): void {
    this.pieces.push(piece)
    done()
  }

  text(): string {
    return Buffer.concat(this.pieces).toString('utf8')
  }
}
