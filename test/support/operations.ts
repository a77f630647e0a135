/**
 * Storage operations step by step: recorded, failed at each step, and checked for what a power cut could still lose.
 */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Operation, setFaultHook } from '../../src/host/disk/operation.js'
import { withFaults } from './faults.js'

/** A step, and whether its path existed before it. */
export interface Recorded extends Operation {
  wasThere: boolean
}

/** Records until the end of the test, or of the next `withFaults`. Includes failed steps. */
export function recordOperations(): Recorded[] {
  const operations: Recorded[] = []
  withFaults((operation) => {
    operations.push({ ...operation, wasThere: existsSync(operation.path) })
    return undefined
  })
  return operations
}

/** The steps of `act`, in order. */
export function operationsOf(act: () => unknown): Recorded[] {
  const operations = recordOperations()
  act()
  clearFaults()
  return operations
}

export function clearFaults(): void {
  setFaultHook(undefined)
}

export type HowOften = 'once' | 'from then on'

/** Makes the step with this number fail, from 0; with 'from then on' every later step too. */
export function failStep(index: number, errno: string, howOften: HowOften = 'once'): void {
  let count = 0
  withFaults(() => {
    const step = count++
    if (step === index || (howOften === 'from then on' && step > index))
      throw Object.assign(new Error(errno), { code: errno })
    return undefined
  })
}

const SYNCS = new Set(['fsync', 'fdatasync', 'sync_directory'])

export function isSync(operation: Operation): boolean {
  return SYNCS.has(operation.name)
}

interface Unsynced {
  bytes: boolean
  name: boolean
}

/**
 * The losses that a power cut could cause after these steps: files with unsynced bytes, names in an unsynced directory.
 */
export function unsyncedAfter(operations: Recorded[]): string[] {
  const state = new Map<string, Unsynced>()
  for (const operation of operations) apply(state, operation)
  return [...state].filter(([, { bytes, name }]) => bytes || name).map(([path]) => path)
}

function apply(state: Map<string, Unsynced>, { name, path, to, wasThere }: Recorded): void {
  switch (name) {
    case 'read':
      return
    case 'open':
    case 'mkdir':
      if (!wasThere) state.set(path, { bytes: false, name: true })
      return
    case 'write':
    case 'truncate':
      state.set(path, { bytes: true, name: state.get(path)?.name ?? false })
      return
    case 'fsync':
    case 'fdatasync':
      state.set(path, { bytes: false, name: state.get(path)?.name ?? false })
      return
    case 'sync_directory':
      for (const [child, entry] of state) if (dirname(child) === path) entry.name = false
      return
    case 'link':
      state.set(to as string, { bytes: state.get(path)?.bytes ?? false, name: true })
      return
    case 'rename':
      // An existing file has its bytes on disk; a moved one lacks its new name there.
      if (wasThere && !state.has(path)) state.set(path, { bytes: false, name: true })
      for (const [child, entry] of take(state, path))
        state.set(to + child.slice(path.length), { bytes: entry.bytes, name: entry.name || child === path })
      return
    case 'unlink':
    case 'rmdir':
      take(state, path)
  }
}

/** Removes the path and everything below it. */
function take(state: Map<string, Unsynced>, root: string): [string, Unsynced][] {
  const taken = [...state].filter(([path]) => path === root || path.startsWith(`${root}/`))
  for (const [path] of taken) state.delete(path)
  return taken
}
