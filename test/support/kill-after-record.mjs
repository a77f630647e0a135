// Loaded into a process by --import: kills it right after it has synced a batch with a record of the kind in KILL_AFTER.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const marks = new Map()
const real = { writeSync: fs.writeSync, fdatasyncSync: fs.fdatasyncSync }

fs.writeSync = (fd, bytes, ...rest) => {
  if (Buffer.from(bytes).includes(`"kind":"${process.env.KILL_AFTER}"`)) marks.set(fd, true)
  return real.writeSync(fd, bytes, ...rest)
}
fs.fdatasyncSync = (fd) => {
  real.fdatasyncSync(fd)
  if (marks.has(fd)) process.kill(process.pid, 'SIGKILL')
}
syncBuiltinESMExports()
