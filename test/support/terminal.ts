/** A shell in a real terminal, which tmux provides: a person types commands and sees the screen. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll } from 'vitest'
import type { House } from './cli.js'
import { HANG_MS, waitFor } from './wait.js'

export const hasTmux = spawnSync('tmux', ['-V']).status === 0
if (!hasTmux) console.warn('skipped: tests in a terminal, because tmux is not here')

/** The pause before the second look at a screen. Most commands take about a tenth of a second. */
const LOOK_MS = 30

const open = new Set<Terminal>()
let terminals = 0

afterAll(() => {
  for (const terminal of open) terminal.close()
})

export class Terminal {
  private readonly socket: string

  constructor(house: House, { columns = 100, rows = 45, env = {} as Record<string, string> } = {}) {
    this.socket = path.join(house.root, `terminal-${++terminals}`)
    const bin = path.join(house.root, 'bin')
    mkdirSync(bin, { recursive: true })
    const command = house.command().map((word) => `'${word}'`)
    // An earlier terminal of the house may be starting the program, which cannot be opened for writing then.
    const program = path.join(bin, `substrat-${terminals}`)
    writeFileSync(program, `#!/bin/sh\nexec ${command.join(' ')} "$@"\n`, { mode: 0o755 })
    renameSync(program, path.join(bin, 'substrat'))
    // A shell of root ignores PS1 in its environment.
    writeFileSync(path.join(bin, 'shrc'), "PS1='$ '\n")
    const all = {
      ...house.env,
      PATH: `${bin}:${house.env.PATH}`,
      LC_ALL: 'C.UTF-8',
      ENV: path.join(bin, 'shrc'),
      TERM: 'xterm-256color',
      ...env,
    }
    const size = ['-x', String(columns), '-y', String(rows)]
    this.tmux(['-f', '/dev/null', '-u', 'new-session', '-d', ...size, '-c', house.workspace, 'sh'], all)
    open.add(this)
    // Words typed before the first prompt appear twice on the screen.
    while (this.screen() !== '$') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS)
  }

  /** Types a line and the Enter key. */
  type(line: string): void {
    this.tmux([
      'send-keys',
      '-l',
      '--',
      line.endsWith(';') ? `${line.slice(0, -1)}\\;` : line,
      ';',
      'send-keys',
      'Enter',
    ])
  }

  /** Types text without the Enter key. */
  write(text: string): void {
    this.tmux(['send-keys', '-l', '--', text])
  }

  press(key: string): void {
    this.tmux(['send-keys', key])
  }

  /** The text that the person sees, without empty lines at the end. */
  screen(): string {
    return this.tmux(['capture-pane', '-p', '-S', '-']).trimEnd()
  }

  /** Waits until the screen has the text; returns the screen. */
  async shows(text: string | RegExp): Promise<string> {
    const has = (screen: string): boolean =>
      typeof text === 'string' ? screen.includes(text) : text.test(screen)
    return this.until(has, String(text))
  }

  /** Types a command and waits for the next prompt; returns the lines of the command, from its prompt on. */
  async run(line: string): Promise<string> {
    const before = this.prompts()
    this.type(line)
    return this.ended(before)
  }

  /** Waits until the shell shows another prompt than the given number; returns the lines of the latest command. */
  async ended(before: number): Promise<string> {
    const ended = await this.until(
      (screen) => promptsIn(screen) > before && screen.endsWith('\n$'),
      'the end of the command',
    )
    const screen = ended.slice(0, -2)
    return screen.slice(screen.lastIndexOf('\n$ ') + 1)
  }

  prompts(): number {
    return promptsIn(this.screen())
  }

  /** Waits until the condition holds for the screen; returns that screen. Each look starts a process. */
  private async until(condition: (screen: string) => boolean, what: string): Promise<string> {
    let screen = ''
    const holds = (): boolean => {
      screen = this.screen()
      return condition(screen)
    }
    await waitFor(holds, () => `${what} on the screen:\n${screen}`, HANG_MS, LOOK_MS)
    return screen
  }

  close(): void {
    open.delete(this)
    spawnSync('tmux', ['-S', this.socket, 'kill-server'])
  }

  private tmux(words: string[], env: Record<string, string> = {}): string {
    const { status, stdout, stderr } = spawnSync('tmux', ['-S', this.socket, ...words], {
      env: Object.keys(env).length === 0 ? process.env : env,
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`tmux ${words.join(' ')}: ${stderr}`)
    return stdout
  }
}

function promptsIn(screen: string): number {
  return screen.match(/^\$( |$)/gm)?.length ?? 0
}

/** A captured screen with its ids and times replaced, so that it can be compared. */
export function steady(screen: string): string {
  return screen
    .replace(/st_[0-9a-f-]{36}_[\w-]{32}/g, 'st_TOKEN')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/g, 'TIME')
}
