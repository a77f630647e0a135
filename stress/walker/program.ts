/** An installation of the program that tells this process about each error that it creates. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { spawn } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorCode, SubstratError } from '../../src/errors.js'
import { Program, type World } from '../../test/support/in-process.js'
import { Lab, repository } from '../support/lab.js'
import { observed, sourcesWithSites } from './sites.js'

export interface Created {
  place: string
  code: ErrorCode
  message: string
  hint: string | undefined
}

export interface Ended {
  exit: number
  stdout: string
  stderr: string
  created: Created[]
}

/** A command that takes longer hangs, which is a finding. */
const COMMAND_MS_MAX = 120_000

/** A program that is a process of its own loads this module first. Its file is open before a limit on files can matter. */
const OBSERVER = `
  import { openSync, writeSync } from 'node:fs'
  const file = openSync(process.env.SUBSTRAT_SITES, 'a')
  globalThis.substratSite = (place, error) => {
    const { code, message, hint } = error
    writeSync(file, JSON.stringify({ place, code, message, hint }) + '\\n')
    return error
  }
`

export class ObservedProgram {
  private readonly program: Program
  private readonly observer: string
  /** The errors of each command that runs. */
  private readonly errors = new AsyncLocalStorage<Created[]>()
  private runs = 0

  private constructor(private readonly lab: Lab) {
    this.program = Program.of(`${lab.root}/cli`)
    this.observer = join(lab.root, 'observer.mjs')
    writeFileSync(this.observer, OBSERVER)
    // The official plugins are beside the program.
    symlinkSync(join(repository, 'plugins'), join(lab.root, 'cli', 'plugins'))
  }

  static open(): ObservedProgram {
    const sources = [...sourcesWithSites()].map(([file, { source, sites }]) => [
      file,
      observed(source, sites),
    ])
    const program = new ObservedProgram(Lab.open(new Map(sources as [string, string][])))
    Object.assign(globalThis, {
      substratSite(place: string, error: SubstratError): SubstratError {
        const { code, message, hint } = error
        program.errors.getStore()?.push({ place, code, message, hint })
        return error
      },
    })
    return program
  }

  close(): void {
    this.lab.close()
  }

  /** `under`: a line of the shell in which "$@" is the command. Then the command is a process of its own. */
  async run(world: World, under?: string): Promise<Ended> {
    return under === undefined ? this.runHere(world) : this.start(world, under)
  }

  private async runHere(world: World): Promise<Ended> {
    const created: Created[] = []
    const giveUp = new AbortController()
    const late = sleep(COMMAND_MS_MAX, undefined, { signal: giveUp.signal }).then(() => HANGS)
    const ended = await Promise.race([this.errors.run(created, () => this.program.run(world)), late])
    giveUp.abort()
    late.catch(() => undefined)
    return { ...ended, created }
  }

  private async start({ args, env, cwd, stdin }: World, under: string): Promise<Ended> {
    const sites = join(this.lab.root, `sites-${++this.runs}`)
    writeFileSync(sites, '')
    const words = [process.execPath, '--import', this.observer, this.lab.cli, ...args]
    const child = spawn('/bin/sh', ['-c', under, 'sh', ...words], {
      cwd,
      env: { ...env, SUBSTRAT_SITES: sites },
      timeout: COMMAND_MS_MAX,
      killSignal: 'SIGKILL',
    })
    const said = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        said[name] += text
      })
    child.stdin.on('error', () => undefined).end(stdin)
    const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (...how) => resolve(how))
    })
    const lines = readFileSync(sites, 'utf8').split('\n')
    const created = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Created)
    if (signal !== null) return { ...HANGS, created }
    return { exit: code as number, ...said, created }
  }
}

const HANGS = { exit: -1, stdout: '', stderr: `it did not end within ${COMMAND_MS_MAX / 1000} s` }
