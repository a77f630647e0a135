/** One agent CLI in an empty home, beside a model on the loopback. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { processesWith } from '../../test/support/processes.js'
import { waitFor } from '../../test/support/wait.js'
import { install } from '../real/install.js'
import { strike } from '../real/kills/targets.js'
import { type LooseModel, startLooseModel } from '../real/model.js'
import type { Place } from '../real/program.js'
import { repository } from '../support/lab.js'
import type { Cli } from './cli.js'

/** A command that is still running after this time counts as not ending. */
export const COMMAND_SECONDS_MAX = 300
const KILL_MS_MAX = 10_000

/** How a command ended. */
export interface Outcome {
  command: string
  /** As a shell reports it; `running` if it was killed after COMMAND_SECONDS_MAX. */
  exit: number | 'running'
  seconds: number
  /** The last line of stderr, or of stdout if stderr is empty. */
  says: string
}

export interface Finished extends Outcome {
  stdout: string
  stderr: string
}

export interface Command {
  pid: number
  finished: Promise<Finished>
}

export class Setup {
  private constructor(
    readonly cli: Cli,
    readonly place: Place,
    readonly model: LooseModel,
    private readonly root: string,
    private readonly env: Record<string, string>,
  ) {}

  static async open(cli: Cli): Promise<Setup> {
    const program = cli.executable === 'substrat' ? SUBSTRAT : await install(cli)
    const root = mkdtempSync(join(tmpdir(), 'substrat-comparison-'))
    const model = await startLooseModel(() => ({ text: 'ok' }))
    const home = join(root, 'home')
    const place: Place = {
      home,
      config: join(home, '.config'),
      data: join(home, '.local/share'),
      cache: join(home, '.cache'),
      workspace: join(root, 'workspace'),
      modelUrl: model.url,
      program,
    }
    const { config, data, cache, workspace } = place
    for (const folder of [config, data, cache, workspace]) mkdirSync(folder, { recursive: true })
    const env = {
      // The folder of the program has the Node that it needs, if it needs another one.
      PATH: [dirname(program), process.env.PATH].join(delimiter),
      HOME: home,
      XDG_CONFIG_HOME: config,
      XDG_DATA_HOME: data,
      XDG_CACHE_HOME: cache,
      ...cli.configure(place),
    }
    const setup = new Setup(cli, place, model, root, env)
    try {
      for (const argv of cli.prepare?.(place) ?? []) await setup.succeed(argv)
      await setup.killAll()
    } catch (error) {
      await setup.close()
      throw error
    }
    return setup
  }

  async close(): Promise<void> {
    await this.killAll()
    await this.model.close()
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }

  /** As in a shell, assignments of variables may come first. */
  start(argv: string[], under: string[] = []): Command {
    const first = argv.findIndex((word) => !ASSIGNMENT.test(word))
    const variables = Object.fromEntries(argv.slice(0, first).map((word) => word.split('=')))
    const [name, ...args] = argv.slice(first) as [string, ...string[]]
    const program =
      name === 'substrat' ? [process.execPath, SUBSTRAT] : [join(dirname(this.place.program), name)]
    const [file, ...words] = [...under, ...program, ...args] as [string, ...string[]]
    const started = performance.now()
    const child = spawn(file, words, {
      cwd: this.place.workspace,
      env: { ...this.env, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let isLate = false
    const limit = setTimeout(() => {
      isLate = true
      void this.killAll()
    }, COMMAND_SECONDS_MAX * 1000)
    const text = { stdout: '', stderr: '' }
    child.stdout.on('data', (piece) => (text.stdout += piece))
    child.stderr.on('data', (piece) => (text.stderr += piece))
    const finished = new Promise<Finished>((resolve, reject) => {
      child.on('error', reject)
      // `close` may never come: a process that the command left behind holds the pipes open.
      child.on('exit', (code, signal) => {
        clearTimeout(limit)
        const seconds = Math.round((performance.now() - started) / 1000)
        const exit = isLate ? 'running' : (code ?? SIGNALS[signal ?? 'SIGKILL'] ?? 1)
        // The last bytes may still be in the pipes.
        setImmediate(() =>
          resolve({
            command: shellWords(argv),
            exit,
            seconds,
            says: lastLine(text.stderr, text.stdout),
            ...text,
          }),
        )
      })
    })
    return { pid: child.pid as number, finished }
  }

  run(argv: string[], under?: string[]): Promise<Finished> {
    return this.start(argv, under).finished
  }

  /** All processes that its commands started. */
  processes(): number[] {
    return processesWith(`HOME=${this.place.home}`)
  }

  /** SIGKILL for all of them. */
  async killAll(): Promise<void> {
    const areGone = (): boolean => {
      strike(this.processes(), 'SIGKILL')
      return this.processes().length === 0
    }
    await waitFor(areGone, 'the last process to go', KILL_MS_MAX)
  }

  private async succeed(argv: string[]): Promise<void> {
    const { exit, says } = await this.run(argv)
    if (exit !== 0) throw new Error(`${shellWords(argv)} exited ${exit}: ${says}`)
  }
}

const SUBSTRAT = join(repository, 'bin/run.js')
const SIGNALS: Partial<Record<NodeJS.Signals, number>> = { SIGKILL: 137, SIGTERM: 143, SIGINT: 130 }
const ASSIGNMENT = /^[A-Z_]+=/
const LINE_CHARACTERS_MAX = 200
// biome-ignore lint/suspicious/noControlCharactersInRegex: programs colour what they print
const COLOURS = /\x1b\[[\d;]*[A-Za-z]/g

/** As a person types it. */
function shellWords(argv: string[]): string {
  return argv
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ')
}

function lastLine(stderr: string, stdout: string): string {
  const lines = [stdout, stderr].flatMap((text) => text.replaceAll(COLOURS, '').split('\n'))
  return (lines.findLast((line) => line.trim() !== '') ?? '').trim().slice(0, LINE_CHARACTERS_MAX)
}
