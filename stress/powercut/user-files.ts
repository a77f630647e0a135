/** `write-file-atomic` has node:fs for itself; its steps are told of, too. */
import { createRequire, syncBuiltinESMExports } from 'node:module'
import type { Operation } from '../../src/storage/io.js'

const fs = createRequire(import.meta.url)('node:fs') as typeof import('node:fs')

type Call = (...args: never[]) => void

/** Until the result is called. */
export function tellOfUserFiles(tell: (operation: Operation) => void): () => void {
  const original = { open: fs.open, write: fs.write, fsync: fs.fsync, rename: fs.rename, unlink: fs.unlink }
  const paths = new Map<number, string>()
  const patched: Record<keyof typeof original, Call> = {
    open: (path: string, flags: string, mode: number, done: (error: Error | null, fd: number) => void) => {
      if (flags === 'w') tell({ point: 'user_file.open', name: 'open', path, mode: 'create' })
      original.open(path, flags, mode, (error, fd) => {
        paths.set(fd, path)
        done(error, fd)
      })
    },
    write: (fd: number, bytes: Buffer, ...rest: unknown[]) => {
      const path = paths.get(fd) as string
      tell({ point: 'user_file.write', name: 'write', path, offset: 0, bytes })
      ;(original.write as Call)(...([fd, bytes, ...rest] as never[]))
    },
    fsync: (fd: number, done: (error: Error | null) => void) => {
      tell({ point: 'user_file.fsync', name: 'fsync', path: paths.get(fd) as string })
      original.fsync(fd, done)
    },
    rename: (path: string, to: string, done: (error: Error | null) => void) => {
      tell({ point: 'user_file.rename', name: 'rename', path, to })
      original.rename(path, to, done)
    },
    unlink: (path: string, done: (error: Error | null) => void) => {
      tell({ point: 'user_file.unlink', name: 'unlink', path })
      original.unlink(path, done)
    },
  }
  Object.assign(fs, patched)
  syncBuiltinESMExports()
  return () => {
    Object.assign(fs, original)
    syncBuiltinESMExports()
  }
}
