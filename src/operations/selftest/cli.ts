/** Runs commands of this program as processes, in the temporary home of a selftest. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

export interface Ended {
  /** Null: a signal killed it. */
  exit: number | null
  stdout: string
  stderr: string
}

export interface Running {
  kill(): void
  readonly ended: Promise<Ended>
}

/** Where the program keeps its compiled code. The other variables are those of the user's own agents. */
const PASSED_ON = ['SUBSTRAT_CONFIG_DIR', 'SUBSTRAT_CACHE_DIR']

export class Cli {
  private readonly children = new Set<ChildProcess>()
  private readonly environment: Record<string, string | undefined>

  /** `script` is bin/run.js. */
  constructor(
    private readonly script: string,
    home: string,
    private readonly workspace: string,
  ) {
    const kept = Object.entries(process.env).filter(
      ([name]) => !name.startsWith('SUBSTRAT_') || PASSED_ON.includes(name),
    )
    // The user's plugins are not part of the test, and a hook of one may print or hang.
    const plugins = join(workspace, 'no-plugins')
    this.environment = { ...Object.fromEntries(kept), SUBSTRAT_HOME: home, SUBSTRAT_DATA_DIR: plugins }
  }

  start(args: string[]): Running {
    const child = spawn(process.execPath, [this.script, ...args], {
      cwd: this.workspace,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.children.add(child)
    const texts = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (bytes: Buffer) => {
        texts[name] += bytes.toString()
      })
    const ended = new Promise<Ended>((resolve) => {
      const end = (exit: number | null): void => {
        this.children.delete(child)
        resolve({ exit, ...texts })
      }
      // Not `close`: a program of a killed command may hold its output open.
      child.once('exit', (exit) => setImmediate(end, exit)).once('error', () => end(null))
    })
    return { kill: () => void child.kill('SIGKILL'), ended }
  }

  run(args: string[]): Promise<Ended> {
    return this.start(args).ended
  }

  killAll(): void {
    for (const child of this.children) child.kill('SIGKILL')
  }
}
