// Loaded before a command (NODE_OPTIONS=--import): each agent's log takes a while to open, as on a slow disk.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const OPEN_MS = 100
const { openSync } = fs
const never = new Int32Array(new SharedArrayBuffer(4))
fs.openSync = (path, ...rest) => {
  if (String(path).endsWith('events.jsonl')) Atomics.wait(never, 0, 0, OPEN_MS)
  return openSync(path, ...rest)
}
syncBuiltinESMExports()
