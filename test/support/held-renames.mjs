// Loaded before a command (NODE_OPTIONS=--import): each rename of a message of the operator waits until HOLD_RENAMES/go exists, and
// makes HOLD_RENAMES/held first. The end of a test removes the directory, so that a failed one leaves no process.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const { renameSync } = fs
const { HOLD_RENAMES: directory } = process.env
const pause = new Int32Array(new SharedArrayBuffer(4))
fs.renameSync = (from, to) => {
  if (directory !== undefined && String(to).includes('/operator/taken/')) {
    fs.writeFileSync(`${directory}/held`, '')
    while (fs.existsSync(directory) && !fs.existsSync(`${directory}/go`)) Atomics.wait(pause, 0, 0, 5)
  }
  renameSync(from, to)
}
syncBuiltinESMExports()
