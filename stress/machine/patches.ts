/**
 * Gives each process of the machine its own descriptors, output, exit status and signal handlers. The patches are
 * installed once per real process, and stay: run no product code next to a lab.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { clock } from '../../src/clock.js'
import { setFaultHook } from '../../src/host/disk/operation.js'
import { random } from '../../src/start/random.js'
import { Killed, type LabProcess, running, type SignalListener } from './process.js'

const require = createRequire(import.meta.url)
const fs = require('node:fs') as typeof import('node:fs')

const { openSync, closeSync } = fs

let isInstalled = false

export function install(): void {
  if (isInstalled) return
  isInstalled = true
  patchDescriptors()
  patchOutput()
  patchProcess()
  patchProcesses()
  patchPauses()
  process.on('unhandledRejection', ofNobody)
  const began = clock.beganAt
  Object.defineProperty(clock, 'beganAt', { get: () => running.getStore()?.beganAt ?? began })
  setFaultHook((operation) => running.getStore()?.step(operation))
  syncBuiltinESMExports()
}

/** Closes the descriptor of a dead process, without its cooperation. */
export function closeDescriptor(fd: number): void {
  closeSync(fd)
}

/** For labs without power cuts, where syncing takes time and changes nothing. */
export function withoutBarriers(): void {
  fs.fsyncSync = fs.fdatasyncSync = () => undefined
  syncBuiltinESMExports()
}

/** The kernel reports changes at any time, so every watcher must also poll. */
export function withoutWatches(): void {
  fs.watch = (() => {
    throw new Error('the machine watches no files')
  }) as unknown as typeof fs.watch
  syncBuiltinESMExports()
}

/** A model decides what the disk holds after a power cut, so real syncs are not needed. */
export function withoutSyncs(): void {
  fs.fsyncSync = () => undefined
  fs.fdatasyncSync = () => undefined
  syncBuiltinESMExports()
}

/** Ids, secrets and temporary names come from this generator of numbers from 0 to 1. */
export function randomBy(generator: () => number): void {
  random.bytes = (size) => Buffer.from(Array.from({ length: size }, () => Math.floor(generator() * 256)))
  Math.random = generator
}

function patchDescriptors(): void {
  fs.openSync = ((...args: Parameters<typeof openSync>) => {
    const owner = running.getStore()
    if (owner?.isAlive === false) throw new Killed()
    const fd = openSync(...args)
    owner?.descriptors.add(fd)
    return fd
  }) as typeof fs.openSync
  fs.closeSync = (fd) => {
    const owner = running.getStore()
    // The number may belong to another process by now.
    if (owner?.isAlive === false) return
    owner?.descriptors.delete(fd)
    closeSync(fd)
    if (owner?.closesFail === true) throw Object.assign(new Error('EIO: injected'), { code: 'EIO' })
  }
}

function patchOutput(): void {
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = process[name]
    const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
    stream.write = ((text: string | Uint8Array, ...rest: unknown[]) => {
      const owner = running.getStore()
      if (owner === undefined) return write(text, ...rest)
      if (owner.isAlive) owner[name] += typeof text === 'string' ? text : Buffer.from(text).toString('utf8')
      const done = rest.find((value) => typeof value === 'function') as (() => void) | undefined
      if (done !== undefined) queueMicrotask(done)
      return true
    }) as typeof stream.write
  }
}

/** The kernel does not know the processes of the machine. A search of the process list finds none of them. */
function patchProcesses(): void {
  const { readdirSync } = fs
  fs.readdirSync = ((path: string, ...rest: []) =>
    path === '/proc' && running.getStore() !== undefined
      ? []
      : readdirSync(path, ...rest)) as typeof readdirSync
}

/**
 * Between its two checks doctor pauses, so that other processes can finish a step. Here they have finished, or never
 * will.
 */
function patchPauses(): void {
  const { setTimeout: set } = globalThis
  globalThis.setTimeout = ((act: () => void, ms: number, ...rest: []) =>
    set(act, running.getStore()?.argv[0] === 'doctor' ? 0 : ms, ...rest)) as typeof set
}

/** As in Node, an unhandled rejection ends the process. The rejection of a dead process is ignored. */
function ofNobody(error: unknown): void {
  if (error instanceof Killed) return
  const owner = running.getStore()
  if (owner === undefined) throw error
  owner.crash(error)
}

/**
 * Node's own exitCode property cannot be redefined, so another object takes its place.
 *
 * `process.exit` ends only the process that calls it. An assignment to it is ignored: a turn replaces it while the turn
 * waits for its provider, and a killed process would never restore it for the others.
 */
function patchProcess(): void {
  const own = process
  const perProcess = (name: string | symbol, owner: LabProcess): unknown => {
    if (name === 'exitCode') return owner.exitCode
    if (name === 'exit') return (status?: number) => owner.endNow(status)
    if (name === 'on' || name === 'off')
      return (event: string, listener: SignalListener) => {
        owner[name === 'on' ? 'listen' : 'unlisten'](event, listener)
        return globalThis.process
      }
    return Reflect.get(own, name)
  }
  globalThis.process = new Proxy(own, {
    get(target, name) {
      const owner = running.getStore()
      return owner === undefined ? Reflect.get(target, name) : perProcess(name, owner)
    },
    set(target, name, value) {
      const owner = running.getStore()
      if (owner === undefined || (name !== 'exitCode' && name !== 'exit'))
        return Reflect.set(target, name, value)
      if (name === 'exitCode') owner.exitCode = value as number | undefined
      return true
    },
  })
}
