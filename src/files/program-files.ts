/**
 * Secret files for one program and one turn. A program's arguments cannot carry a secret: every user of the machine can
 * read them.
 *
 * A crash leaves a temporary file in the agent's directory. The next holder of the agent's lock sweeps it.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as io from '../host/disk/io.js'
import { writeTemporary } from '../host/disk/replace.js'
import { isTemporaryName, writerOf } from '../host/disk/temporary.js'

export interface PrivateFile {
  path: string
  /** May be called more than once. */
  remove(): void
}

export class ProgramFiles {
  private readonly files: PrivateFile[] = []

  /** `directory`: the agent's own, or the default for a program without an agent. */
  constructor(private readonly directory = tmpdir()) {}

  write(name: string, text: string): PrivateFile {
    // No path separators: the name must stay inside the directory.
    const plain = name.replace(/[^\w.-]/g, '_').slice(0, 64)
    const path = writeTemporary('program_file', join(this.directory, plain), Buffer.from(text), {
      isSynced: false,
    })
    const file = { path, remove: () => void io.unlink('program_file.unlink', path) }
    this.files.push(file)
    return file
  }

  /** Removes the files with that name whose writers were killed. For a directory that no recovery sweeps. */
  sweep(name: string): void {
    for (const each of io.listDirectory('program_file.list', this.directory)) {
      if (!each.startsWith(`${name}.`) || !isTemporaryName(each) || writerOf(each) !== 'dead') continue
      try {
        io.unlink('program_file.sweep', join(this.directory, each))
      } catch {
        // It is of another user.
      }
    }
  }

  /** Removes all files. If one cannot be removed, a later sweep does it. */
  close(): void {
    for (const file of this.files.splice(0)) {
      try {
        file.remove()
      } catch {
        // Recovery sweeps it.
      }
    }
  }
}
