/** A process of its own that does what a test sends it: bundled and started by storage-process.ts. */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readIfThere, setFaultHook } from '../../src/storage/io.js'
import { isHeld, type Lease, type LockSystem, tryLease, waitForLease } from '../../src/storage/lease.js'
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

export type Report =
  | { said: 'ready' }
  | { said: 'tried' }
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
  }
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
