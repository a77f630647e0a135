/** One command in a terminal of a given size, which tmux provides. Its times are not shown. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll } from 'vitest'
import type { House } from './cli.js'
import { HANG_MS, waitFor } from './wait.js'

const open = new Set<Pane>()
let panes = 0
afterAll(() => {
  for (const pane of open) pane.close()
})

export class Pane {
  private readonly socket: string
  private readonly recording: string
  private readonly env: Record<string, string>

  /** `line` is a line for sh. The terminal stays after its end, and shows its exit status. */
  constructor(house: House, columns: number, line: string, rows = 24) {
    this.socket = path.join(house.root, `tmux-${++panes}`)
    this.recording = `${this.socket}.recording`
    this.env = { ...house.env, LANG: 'C.UTF-8' }
    const script = `tmux wait-for recorded; ${line}; echo "[exit $?]"; exec tail -f /dev/null`
    const size = ['-x', String(columns), '-y', String(rows)]
    open.add(this)
    this.tmux('new-session', '-d', ...size, '-c', house.workspace, script)
    this.tmux('pipe-pane', `cat > '${this.recording}'`, ';', 'wait-for', '-S', 'recorded')
  }

  close(): void {
    this.tmux('kill-server')
    open.delete(this)
  }

  resize(columns: number): void {
    this.tmux('resize-window', '-x', String(columns))
  }

  /** The lines that it shows, without the empty ones at the end. `-e`: with colours. */
  show(...options: string[]): string {
    return this.tmux('capture-pane', '-p', ...options).trimEnd()
  }

  /** The same, with every time as `T` and every rate as `R`. */
  get pane(): string {
    return this.show()
      .replace(/\b\d+m\d\ds\b|\b[\d.]+ s\b/g, 'T')
      .replace(/\b[\d.]+\/s\b/g, 'R/s')
  }

  /** All that the command has written to the terminal, with the control sequences that redraw lines. */
  get recorded(): string {
    return readFileSync(this.recording, 'utf8')
  }

  /** Waits until it shows this, and returns the pane at that moment. */
  async until(wanted: RegExp): Promise<string> {
    let pane = ''
    const isShown = (): boolean => {
      pane = this.pane
      return wanted.test(pane)
    }
    await waitFor(isShown, `${wanted} in the terminal`, HANG_MS).catch((error) => {
      throw new Error(`${error.message}, which shows:\n${pane}`)
    })
    return pane
  }

  private tmux(...words: string[]): string {
    const { stdout } = spawnSync('tmux', ['-u', '-S', this.socket, '-f', '/dev/null', ...words], {
      env: this.env,
      encoding: 'utf8',
    })
    return stdout
  }
}

/** The command as words of sh. */
export function shellLine(house: House, ...args: string[]): string {
  return house
    .command(...args)
    .map((word) => `'${word.replaceAll("'", "'\\''")}'`)
    .join(' ')
}
