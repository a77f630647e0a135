/** Two processes and one lock: the real one of an agent. */
import type { Found } from '../../host/selftest/check.js'
import { check, doesNotHold, holds, LOCAL_HOME } from '../../host/selftest/check.js'
import type { SelftestCheck } from '../../schema/output-home.js'

export const LOCKS: [string, string] = ['a lock has one holder', 'a killed holder loses its lock']

export interface LockWorld {
  /** A command that holds the agent until it is killed. Undefined if it does not come to hold it. */
  startHolder(): Promise<{ kill(): Promise<void> } | undefined>
  /** This process takes the agent. Undefined while another process holds it. */
  take(): Promise<{ release(): Promise<void> } | undefined>
  /** Another process tries to take the agent. */
  takeElsewhere(): Promise<'taken' | 'busy'>
  /** Whether a lock is a directory too, which does not end with its process. */
  hasDirectories: boolean
  /** Removes what a dead holder left. */
  unlock(): Promise<void>
}

export async function lockChecks(world: LockWorld): Promise<SelftestCheck[]> {
  let afterKill: Found | undefined
  const oneHolder = await check(LOCKS[0], async () => {
    const holder = await world.startHolder()
    if (holder === undefined)
      return doesNotHold('a command did not come to hold its agent', 'substrat doctor')
    const beside = await world.take()
    await beside?.release()
    await holder.kill()
    afterKill = await released(world)
    if (beside !== undefined)
      return doesNotHold('this process took an agent that another one held', LOCAL_HOME)
    const own = await world.take()
    if (own === undefined) return doesNotHold('the lock stayed busy', LOCAL_HOME)
    const other = await world.takeElsewhere()
    await own.release()
    return other === 'taken'
      ? doesNotHold('another process took an agent that this one held', LOCAL_HOME)
      : holds('the second of two processes was refused, in both orders')
  })
  const end = await check(
    'a killed holder loses its lock',
    () => afterKill ?? doesNotHold('no command held a lock', 'see the check before'),
  )
  return [oneHolder, end]
}

async function released(world: LockWorld): Promise<Found> {
  const own = await world.take()
  await own?.release()
  if (own !== undefined) return holds('the lock was free as soon as its holder was dead')
  await world.unlock()
  return world.hasDirectories
    ? doesNotHold(
        'it stays busy until a person runs substrat unlock, as on every file system that is not local',
        LOCAL_HOME,
      )
    : doesNotHold('the lock stayed busy', LOCAL_HOME)
}
