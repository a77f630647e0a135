/**
 * Files for the eyes of one program, for as long as its turn lasts: what its arguments must not have, which every user of the
 * machine can read.
 *
 * What is on disk if we die: a temp in the directory of the agent. Whoever has the agent's lock next sweeps it with the other
 * temps, and it goes with the agent.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as io from '../host/disk/io.js'
import { writeTemporary } from '../host/disk/replace.js'

export interface PrivateFile {
  path: string
  /** May be called more than once. */
  remove(): void
}

export class ProgramFiles {
  private readonly files: PrivateFile[] = []

  /** `directory`: of the agent. By default for a program that is nobody's. */
  constructor(private readonly directory = tmpdir()) {}

  write(name: string, text: string): PrivateFile {
    // It walks out of no directory.
    const plain = name.replace(/[^\w.-]/g, '_').slice(0, 64)
    const path = writeTemporary('program_file', join(this.directory, plain), Buffer.from(text), {
      isSynced: false,
    })
    const file = { path, remove: () => void io.unlink('program_file.unlink', path) }
    this.files.push(file)
    return file
  }

  /** None is left. What cannot be removed now is swept later. */
  close(): void {
    for (const file of this.files.splice(0)) {
      try {
        file.remove()
      } catch {
        // Swept by recovery.
      }
    }
  }
}
