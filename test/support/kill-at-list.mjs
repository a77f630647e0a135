// Loaded into a process by --import: kills it at its n-th step on the list of plugins, or slows a write in place.
// KILL_LIST: the path of the list. KILL_AT: the step before which the process dies; 0 only counts, and prints the number.
// A write in place, as of npm, has two steps: the list is empty, and half of it is there. A killed npm takes its parent with it.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const { KILL_LIST: list, KILL_AT: at } = process.env
const isNpm = /npm(-cli\.js)?$/.test(process.argv[1] ?? '')
const isOnlyNpm = process.env.KILL_IN === 'npm'
const { appendFileSync, openSync, writeFileSync } = fs
const descriptors = new Set()
let steps = 0

function step() {
  if (isOnlyNpm && !isNpm) return
  steps += 1
  if (Number(at) !== steps) return
  if (isNpm) process.kill(process.ppid, 'SIGKILL')
  process.kill(process.pid, 'SIGKILL')
}

const isOurs = (path) => typeof path === 'string' && path.startsWith(list)

for (const name of ['openSync', 'renameSync', 'unlinkSync']) {
  const real = fs[name]
  fs[name] = (path, ...rest) => {
    if (isOurs(path)) step()
    const result = real(path, ...rest)
    if (name === 'openSync' && isOurs(path)) descriptors.add(result)
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
const realWriteFile = fs.promises.writeFile
fs.promises.writeFile = async (path, data, ...rest) => {
  if (!isOurs(String(path))) return realWriteFile(path, data, ...rest)
  writeFileSync(path, '')
  step()
  writeFileSync(path, String(data).slice(0, String(data).length / 2))
  step()
  // Long enough for a reader.
  for (const end = Date.now() + 20; Date.now() < end; ) openSync('/dev/null', 'r')
  return realWriteFile(path, data, ...rest)
}
syncBuiltinESMExports()
if (process.env.KILL_COUNTS) process.on('exit', () => appendFileSync(process.env.KILL_COUNTS, `${steps}\n`))
