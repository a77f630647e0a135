/** A separate process that follows a test's orders; bundled and started by storage-process.ts. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync } from 'node:fs'
import { readIfThere } from '../../src/host/disk/io.js'
import { setFaultHook } from '../../src/host/disk/operation.js'
import { openForAppend } from '../../src/session/session.js'
import { FileStore } from '../../src/storage/file-store.js'
import {
  isHeld,
  type KernelLease,
  type LockSystem,
  tryLease,
  waitForLease,
} from '../../src/storage/locks/lease.js'

export type Order =
  /** Waits for the lock and takes it. Reports `tried` before each attempt, and `in` when it has the lock. */
  | { do: 'take'; system: LockSystem; path: string; witness?: string }
  | { do: 'try'; system: LockSystem; path: string }
  | { do: 'release' }
  | { do: 'probe'; system: LockSystem; path: string }
  /** Starts a child that outlives it. */
  | { do: 'leave child' }
  | { do: 'make home'; root: string }
  | { do: 'lock agent'; root: string; agentId: string }
  | { do: 'read'; path: string }
  /**
   * Opens the agent and appends a record. Pauses before the first step `at`, reports it, and continues when `until`
   * exists.
   */
  | { do: 'append'; root: string; agentId: string; at?: string; until?: string }

export type Report =
  | { said: 'ready' }
  | { said: 'tried' }
  | { said: 'stopped' }
  | { said: 'in'; alone: boolean }
  | { said: 'result'; result: unknown }
  | { said: 'failed'; code: string; message: string; hint: string | null }

let lease: KernelLease | undefined

process.on('message', (order: Order) => {
  obey(order).then(
    (result) => report({ said: 'result', result: result ?? null }),
    (error) => report({ said: 'failed', code: error.code, message: error.message, hint: error.hint ?? null }),
  )
})
report({ said: 'ready' })

async function obey(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'take':
      setFaultHook(({ point }) => {
        if (point === 'lock.open') report({ said: 'tried' })
        return undefined
      })
      lease = await waitForLease(order.system, order.path, 'test', 3_600_000)
      report({ said: 'in', alone: order.witness === undefined || isFirstIn(order.witness) })
      return lease !== undefined
    case 'try':
      lease = await tryLease(order.system, order.path, 'test')
      return lease !== undefined
    case 'release':
      return lease?.release()
    case 'probe':
      return isHeld(order.system, order.path)
    case 'leave child':
      return spawn('sleep', ['3600'], { detached: true, stdio: 'ignore' }).pid
    case 'make home':
      return FileStore.openForWrite(order.root).facts
    case 'lock agent':
      lease = await FileStore.openForWrite(order.root).hold(order.agentId, { command: 'test', waitMs: 0 })
      return lease !== undefined
    case 'read':
      return readIfThere('test.read', order.path)?.toString('utf8') ?? null
    case 'append':
      if (order.at !== undefined) stopBefore(order.at, order.until as string)
      return append(order.root, order.agentId)
  }
}

/** Returns the record that it appended, and so acknowledged. */
async function append(root: string, agentId: string): Promise<string> {
  const session = await openForAppend(FileStore.openForWrite(root), agentId, { command: 'test', waitMs: 0 })
  const message_id = randomUUID()
  try {
    session.append([{ kind: 'agent.gated', message_id, from: 'operator' }])
  } finally {
    await session.close(() => false)
  }
  return message_id
}

/** Blocks synchronously, like a process that the kernel does not schedule for a while. */
function stopBefore(step: string, until: string): void {
  setFaultHook(({ point }) => {
    if (point !== step) return undefined
    setFaultHook(undefined)
    report({ said: 'stopped' })
    while (!existsSync(until)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    return undefined
  })
}

function isFirstIn(witness: string): boolean {
  try {
    closeSync(openSync(witness, 'wx'))
    return true
  } catch {
    return false
  }
}

function report(message: Report): void {
  process.send?.(message)
}
