import * as fs from 'node:fs'

/** Calls `onChange` on each change in the directory. Advisory: the caller must also poll. */
export function watchDirectory(path: string, onChange: () => void): { close(): void } {
  try {
    const watcher = fs.watch(path, { persistent: false }, onChange)
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    return { close: () => undefined }
  }
}
