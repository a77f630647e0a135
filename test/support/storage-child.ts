/** A process of its own that does what a test sends it: bundled and started by storage-process.ts. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync } from 'node:fs'
import { readIfThere } from '../../src/host/disk/io.js'
import { setFaultHook } from '../../src/host/disk/operation.js'
import { openForAppend } from '../../src/session/session.js'
import { isHeld, type Lease, type LockSystem, tryLease, waitForLease } from '../../src/storage/locks/lease.js'
import { FileStore } from '../../src/storage/store.js'

export type Order =
  /** Takes the lock, however long that takes; says `tried` before each attempt, `in` when it has it. */
  | { do: 'take'; system: LockSystem; path: string; witness?: string }
  | { do: 'try'; system: LockSystem; path: string }
  | { do: 'release' }
  | { do: 'probe'; system: LockSystem; path: string }
  /** A child of its own that lives on. */
  | { do: 'leave child' }
  | { do: 'make home'; root: string }
  | { do: 'lock agent'; root: string; agentId: string }
  | { do: 'read'; path: string }
  /** Opens the agent and appends a record; stops before the first step `at`, says so, and goes on when `until` is there. */
  | { do: 'append'; root: string; agentId: string; at?: string; until?: string }

export type Report =
  | { said: 'ready' }
  | { said: 'tried' }
  | { said: 'stopped' }
  | { said: 'in'; alone: boolean }
  | { said: 'result'; result: unknown }
  | { said: 'failed'; code: string; message: string; hint: string | null }

let lease: Lease | undefined

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
      return FileStore.openForWrite(order.root).home
    case 'lock agent':
      lease = await FileStore.openForWrite(order.root).lockAgent(order.agentId, 'test', 0)
      return lease !== undefined
    case 'read':
      return readIfThere('test.read', order.path)?.toString('utf8') ?? null
    case 'append':
      if (order.at !== undefined) stopBefore(order.at, order.until as string)
      return append(order.root, order.agentId)
  }
}

/** Says which record it has appended, and so acknowledged. */
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

/** In the middle of synchronous code, as a process that the kernel does not run for a while. */
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
