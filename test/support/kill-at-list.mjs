// Loaded into a process by --import: kills it at its n-th step on the list of plugins, or on the directory of their copies.
// KILL_LIST: the path of the list. KILL_AT: the step before which the process dies; 0 only counts, and prints the number.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'

const { KILL_LIST: list, KILL_AT: at } = process.env
const isNpm = /npm(-cli\.js)?$/.test(process.argv[1] ?? '')
const copies = path.join(path.dirname(list), 'providers')
const descriptors = new Set()
let steps = 0

function step() {
  if (isNpm) return
  steps += 1
  if (Number(at) === steps) process.kill(process.pid, 'SIGKILL')
}

const isOurs = (file) => typeof file === 'string' && (file.startsWith(list) || file.startsWith(copies))

for (const name of ['openSync', 'renameSync', 'unlinkSync', 'rmSync']) {
  const real = fs[name]
  fs[name] = (file, ...rest) => {
    if (isOurs(file)) step()
    const result = real(file, ...rest)
    if (name === 'openSync' && isOurs(file)) descriptors.add(result)
    return result
  }
}
for (const name of ['writeSync', 'fsyncSync', 'fdatasyncSync']) {
  const real = fs[name]
  fs[name] = (fd, ...rest) => {
    if (descriptors.has(fd)) step()
    return real(fd, ...rest)
  }
}
syncBuiltinESMExports()
if (process.env.KILL_COUNTS && !isNpm)
  process.on('exit', () => fs.appendFileSync(process.env.KILL_COUNTS, `${steps}\n`))
