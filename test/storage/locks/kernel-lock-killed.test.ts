/** Locks whose holder is killed again and again, for each kind on this machine. */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { LockKind } from '../../../src/schema/files.js'
import { chooseLockKind } from '../../../src/storage/locks/kernel-lock.js'
import { Child, firstToSay, useChildren } from '../../support/storage-process.js'
import { tempDirectory } from '../../support/temp.js'

useChildren()

const HAS: Record<LockKind, boolean> = {
  ofd: chooseLockKind() === 'ofd',
  flock: spawnSync('flock', ['--version']).status === 0,
}
const ROUNDS = Number(process.env.ROUNDS ?? 12)
const WAITERS = 8

function newLock(kind: LockKind) {
  return { path: join(tempDirectory(), 'lock'), system: { kind, isLocal: true } }
}

describe.each(['ofd', 'flock'] as const)('a lock of kind %s', (kind) => {
  test.skipIf(!HAS[kind])(
    `admits exactly one of ${WAITERS} waiters when its holder is killed, in ${ROUNDS} rounds`,
    async () => {
      const lock = newLock(kind)
      const witness = `${lock.path}.witness`
      const take = async (child: Child): Promise<Child> => {
        child.send({ do: 'take', ...lock, witness })
        await child.heard('tried')
        return child
      }
      let holder = await take(await Child.start())
      await holder.heard('in')
      let waiters = await Promise.all(Array.from({ length: WAITERS }, async () => take(await Child.start())))
      for (let round = 0; round < ROUNDS; round++) {
        // The holder makes a witness file and would find another holder's. It is removed before the kill, not after.
        rmSync(witness)
        const killed = holder.kill()
        holder = await firstToSay(waiters, 'in')
        await killed
        waiters = waiters.filter((child) => child !== holder)
        const tries = waiters.map((child) => child.count('tried'))
        const replacement = Child.start()
        // Each other process tries while the lock is held.
        await Promise.all(waiters.map((child, index) => child.heard('tried', (tries[index] as number) + 2)))
        expect(waiters.map((child) => child.count('in'))).toEqual(waiters.map(() => 0))
        expect(holder.reports.find(({ said }) => said === 'in')).toEqual({ said: 'in', alone: true })
        waiters.push(await take(await replacement))
      }
      await Promise.all([holder, ...waiters].map((child) => child.kill()))
    },
  )
})
