/** A pager of the user, such as `less`, on this terminal. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

/** Commands that the shell can replace itself by. A signal then reaches the pager itself. */
const SIMPLE = /^[\w./-][\w./ +-]*$/
/** The exit statuses of a shell that cannot run a command. */
const NOT_RUN: unknown[] = [126, 127]
const ENDS = ['SIGTERM', 'SIGHUP'] as const

export class Pager {
  private readonly child: ChildProcess
  private readonly input: Writable
  private readonly ended: Promise<unknown>
  private isOpen = true
  private signal: NodeJS.Signals | undefined

  /** `command`: words for the shell. */
  constructor(command: string) {
    const line = SIMPLE.test(command) ? `exec ${command}` : command
    this.child = spawn('/bin/sh', ['-c', line], {
      stdio: ['pipe', 'inherit', 'inherit'],
      // A `less` without options of its own shows colours, and ends at once if everything fits.
      env: { LESS: 'FRX', ...process.env },
    })
    this.input = this.child.stdin as Writable
    this.input.on('error', () => this.stop())
    this.ended = new Promise((resolve) => {
      this.child.on('error', () => resolve(NOT_RUN[1]))
      this.child.on('close', (code) => resolve(code))
    })
    void this.ended.then(() => this.stop())
    // Ctrl-C is a key of the pager.
    process.on('SIGINT', ignore)
    for (const signal of ENDS) process.on(signal, this.onEnd)
  }

  /** False once the person has left the pager. */
  get isRead(): boolean {
    return this.isOpen
  }

  /** Settles when the pager can take more. */
  async write(text: string): Promise<void> {
    if (!this.isOpen || this.input.write(text)) return
    await Promise.race([new Promise((resolve) => this.input.once('drain', resolve)), this.ended])
  }

  /** Waits until the person leaves the pager. False if the command could not run. */
  async close(): Promise<boolean> {
    this.input.end()
    const status = await this.ended
    process.off('SIGINT', ignore)
    for (const signal of ENDS) process.off(signal, this.onEnd)
    // The pager has restored the terminal. Now the signal ends this process as by default.
    if (this.signal !== undefined) process.kill(process.pid, this.signal)
    return !NOT_RUN.includes(status)
  }

  private readonly onEnd = (signal: NodeJS.Signals): void => {
    this.signal = signal
    this.stop()
    this.child.kill(signal)
  }

  private stop(): void {
    this.isOpen = false
  }
}

function ignore(): void {}
