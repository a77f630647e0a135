/** The stdin of a command. */
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/**
 * A file without a name that holds the text. With a pipe, a face that dies in the middle would leave the command with the
 * beginning of a message, which it would take for all of it.
 */
export function openInput(text: string): number {
  const at = path.join(tmpdir(), `.substrat-face-${randomUUID()}`)
  const fd = openSync(at, 'wx+', 0o600)
  try {
    unlinkSync(at)
    const bytes = Buffer.from(text)
    // A position keeps the file's own offset at 0, where the command begins to read.
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, done)
    return fd
  } catch (error) {
    closeSync(fd)
    throw error
  }
}
