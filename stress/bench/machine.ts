/** Describes the machine, and measures the speed of its disk. */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { basename, join } from 'node:path'

export function describeMachine(directory: string): Record<string, string> {
  const [cpu] = cpus()
  return {
    date: new Date().toISOString().slice(0, 10),
    node: `Node ${process.version.slice(1)} ${process.arch}`,
    system: `${process.platform} ${release()}`,
    cpu: `${cpus().length} x ${cpu?.model.trim()}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
    load: `load ${loadavg()[0]?.toFixed(1)} before it`,
    file_system: outputOf('df', '--output=fstype', directory)?.split('\n').at(-1) ?? 'unknown file system',
    disk: diskOf(directory),
    syncs: `${syncsPerSecond(directory).toFixed(0)} syncs a second`,
  }
}

/** Appends and syncs one line, again and again. */
export function syncsPerSecond(directory: string, forMs = 1000): number {
  const path = join(directory, 'raw')
  const file = openSync(path, 'wx')
  const line = Buffer.alloc(500, 'x')
  const start = performance.now()
  let count = 0
  for (; performance.now() - start < forMs; count++) {
    writeSync(file, line)
    fdatasyncSync(file)
  }
  const seconds = (performance.now() - start) / 1000
  closeSync(file)
  rmSync(path)
  return count / seconds
}

/** How many requests a process could answer if it made only their disk steps: two batches, the reply, the removed request. */
export function answersPerSecond(directory: string, requests = 1000): number {
  const [inbox, outbox] = ['inbox', 'outbox'].map((name) => join(directory, `raw-${name}`)) as [
    string,
    string,
  ]
  for (const folder of [inbox, outbox]) mkdirSync(folder)
  const line = Buffer.alloc(1000, 'x')
  const names = Array.from({ length: requests }, (_, index) => `${index}.json`)
  for (const name of names) writeFileSync(join(inbox, name), line)
  const [log, folder] = [openSync(join(directory, 'raw-log'), 'wx'), openSync(outbox, 'r')]
  const start = performance.now()
  for (const name of names) {
    for (const _ of ['begin', 'end']) {
      writeSync(log, line)
      fdatasyncSync(log)
    }
    const [temporary, reply] = [join(outbox, `${name}.tmp`), join(outbox, name)]
    const file = openSync(temporary, 'wx')
    writeSync(file, line)
    fsyncSync(file)
    linkSync(temporary, reply)
    unlinkSync(temporary)
    closeSync(file)
    fsyncSync(folder)
    unlinkSync(join(inbox, name))
  }
  const seconds = (performance.now() - start) / 1000
  for (const fd of [log, folder]) closeSync(fd)
  return requests / seconds
}

function diskOf(directory: string): string {
  const device = outputOf('df', '--output=source', directory)?.split('\n').at(-1) ?? 'unknown disk'
  const facts = `/sys/class/block/${basename(device)}`
  const isVirtual = basename(device).startsWith('vd')
  const spins = read(`${facts}/queue/rotational`) === '1' && !isVirtual
  const model = read(`${facts}/device/model`) ?? (isVirtual ? 'a virtual disk' : spins ? 'spinning' : '')
  return [device, model].filter(Boolean).join(' ')
}

function outputOf(program: string, ...argv: string[]): string | undefined {
  try {
    return execFileSync(program, argv, { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
