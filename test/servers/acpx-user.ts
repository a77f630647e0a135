/** A user of acpx from npm, the command-line client of ACP, with the configuration of docs/acp.md. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { execa } from 'execa'
import { expect } from 'vitest'
import { snippetOf, userOf } from '../acp/shell-path.js'
import type { House } from '../support/cli.js'
import { npm } from '../support/npm.js'
import { commandLine, environment, killIfAlive, processesWith } from '../support/processes.js'

/** acpx needs a newer Node than substrat. */
const NODE = `node-linux-${process.arch}`
const PACKAGES = ['acpx@0.19.1', `${NODE}@22.13.1`]

/** An installation of acpx. */
export class Acpx {
  private readonly directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'substrat-acpx-')))

  async install(): Promise<void> {
    writeFileSync(path.join(this.directory, 'package.json'), '{"private":true}')
    const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock']
    await npm(this.directory, 'install', ...flags, ...PACKAGES)
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }

  get command(): [string, string] {
    const modules = path.join(this.directory, 'node_modules')
    return [path.join(modules, NODE, 'bin', 'node'), path.join(modules, '.bin', 'acpx')]
  }
}

/** acpx and its queue owner, `substrat acp`, and the commands that run turns. */
export const SIDES = ['client', 'server', 'turn'] as const
export type Side = (typeof SIDES)[number]

export class User {
  readonly env: Record<string, string>

  constructor(
    readonly house: House,
    private readonly acpx: Acpx,
  ) {
    const configuration = path.join(house.env.HOME as string, '.acpx')
    this.env = userOf(house)
    mkdirSync(configuration, { recursive: true })
    writeFileSync(path.join(configuration, 'config.json'), snippetOf('docs/acp.md', 'acpx', 'json'))
  }

  /** Runs `acpx … substrat …`. */
  start(flags: string[], ...words: string[]) {
    const [node, program] = this.acpx.command
    const general = ['--cwd', this.house.workspace, '--format', 'quiet', ...flags]
    return execa(node, [program, ...general, 'substrat', ...words], {
      cwd: this.house.workspace,
      env: this.env,
      extendEnv: false,
      reject: false,
      stdin: 'ignore',
    })
  }

  /** Runs a line of sh, in which `acpx` and `substrat` are commands. Returns its output. */
  async type(line: string): Promise<string> {
    const [node, program] = this.acpx.command
    const { all } = await execa('sh', ['-c', `acpx() { '${node}' '${program}' "$@"; }\n${line}`], {
      cwd: this.house.workspace,
      env: this.env,
      extendEnv: false,
      reject: false,
      stdin: 'ignore',
      all: true,
    })
    return String(all)
  }

  /** acpx gives its own queue owner a short time to start, which a busy machine exceeds. It has then sent nothing. */
  async ok(flags: string[], ...words: string[]): Promise<string> {
    for (;;) {
      const { exitCode, stdout, stderr } = await this.start(flags, ...words)
      if (String(stderr).includes('queue owner failed to start')) continue
      expect(exitCode, String(stderr)).toBe(0)
      return String(stdout)
    }
  }

  /** Kills the processes of these sides. Returns how many of each it found. */
  kill(sides: readonly Side[]): Record<Side, number> {
    const killed = { client: 0, server: 0, turn: 0 }
    for (const pid of processesWith(`SUBSTRAT_HOME=${this.house.home}`)) {
      if (!environment(pid).includes(`HOME=${this.house.env.HOME}`)) continue
      const side = sideOf(commandLine(pid))
      if (!sides.includes(side)) continue
      killIfAlive(pid)
      killed[side] += 1
    }
    return killed
  }

  killAll(): void {
    this.kill(SIDES)
  }
}

function sideOf(words: string[]): Side {
  if (words.some((word) => word.includes('acpx'))) return 'client'
  return words.includes('acp') ? 'server' : 'turn'
}

/** The prompts of the only agent in its log, and its replies. */
export async function conversation(house: House): Promise<string[]> {
  const [{ id }] = (await house.ok('list', '--json')).json.agents
  return house.records(id).flatMap((record) => {
    if (record.kind === 'message.agent') return [`agent: ${record.content}`]
    const isPrompt = record.kind === 'message.user' && record.origin === 'operator'
    return isPrompt || record.kind === 'mail.delivered' ? [`user: ${record.content}`] : []
  })
}
