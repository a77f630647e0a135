/** A program for the exec provider that pauses in the middle of a turn until the test releases it. */
import { spawnSync } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, writeSync } from 'node:fs'
import path from 'node:path'
import { afterAll } from 'vitest'
import type { House } from './cli.js'
import { waitFor } from './wait.js'

const descriptors: number[] = []
afterAll(() => {
  for (const fd of descriptors) closeSync(fd)
})

export class Gate {
  private readonly fd: number
  private readonly arrived: string
  /** Reports that it runs, waits for its release, and answers `done: <prompt>`. */
  readonly command: string

  constructor(house: House, name: string) {
    const fifo = path.join(house.workspace, `${name}.fifo`)
    this.arrived = path.join(house.workspace, `${name}.arrived`)
    spawnSync('mkfifo', [fifo])
    // Opened for reading and writing, so that the open does not block, and written data stays until it is read.
    this.fd = openSync(fifo, constants.O_RDWR)
    descriptors.push(this.fd)
    this.command = `: > ${name}.arrived; read _ < ${name}.fifo; printf 'done: '; cat`
  }

  get flags(): string[] {
    return ['--provider', 'exec', '--option', `command=${this.command}`]
  }

  isReached(): Promise<void> {
    return waitFor(() => existsSync(this.arrived), 'the program of the turn')
  }

  open(): void {
    writeSync(this.fd, 'go\n')
  }
}
