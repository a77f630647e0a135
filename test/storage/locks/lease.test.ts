import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { bootId } from '../../../src/host/identity.js'
import {
  isHeld,
  type KernelLease,
  lockDirectory,
  readHolder,
  tryLease,
  waitForLease,
} from '../../../src/storage/locks/lease.js'
import { countLockTries, failing, withFaults } from '../../support/faults.js'
import { Child, useChildren } from '../../support/storage-process.js'
import { tempDirectory } from '../../support/temp.js'
import { holdClock } from '../../support/time.js'
import { waitFor } from '../../support/wait.js'

useChildren()

const local = { kind: 'ofd' as const, isLocal: true }
const remote = { kind: 'ofd' as const, isLocal: false }

function newPath(): string {
  return join(tempDirectory(), 'lock')
}

async function take(system: typeof local, path: string): Promise<KernelLease> {
  const lease = await tryLease(system, path, 'substrat send')
  if (lease === undefined) throw new Error('the lock should have been free')
  onTestFinished(() => lease.release())
  return lease
}

function isValid(lease: KernelLease): boolean {
  try {
    lease.assertHeld()
    return true
  } catch {
    return false
  }
}

describe('a lease', () => {
  test('has one holder at a time, also within one process', async () => {
    const path = newPath()
    const lease = await take(local, path)
    expect(await tryLease(local, path, 'other')).toBeUndefined()
    expect(isHeld(local, path)).toBe(true)
    await lease.release()
    expect(isHeld(local, path)).toBe(false)
    await take(local, path)
  })

  test('that is busy or probed leaves no descriptor open', async () => {
    const path = newPath()
    const lease = await take(local, path)
    const count = (): number => readdirSync('/proc/self/fd').length
    const before = count()
    for (let round = 0; round < 5; round++) {
      expect(await tryLease(local, path, 'other')).toBeUndefined()
      expect(isHeld(local, path)).toBe(true)
    }
    expect(count()).toBe(before)
    await lease.release()
    for (let round = 0; round < 5; round++) expect(isHeld(local, path)).toBe(false)
    expect(count()).toBe(before - 1)
  })

  test('names its holder, time and command in its file', async () => {
    const path = newPath()
    writeFileSync(
      path,
      `${JSON.stringify({ pid: 1, command: 'a longer one that was there before'.repeat(10) })}\n`,
    )
    const before = Date.now()
    await take(local, path)
    expect(readHolder(path)).toMatchObject({ pid: process.pid, command: 'substrat send', boot_id: bootId() })
    expect(Date.parse(readHolder(path)?.since ?? '')).toBeGreaterThanOrEqual(before)
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(2)
  })

  test('is valid even if its holder cannot be written or read', async () => {
    const path = newPath()
    withFaults(failing('ENOSPC', ({ point }) => point === 'lock.holder'))
    await take(local, path)
    expect(readHolder(path)).toBeUndefined()
    expect(isHeld(local, path)).toBe(true)
    expect(readHolder(newPath())).toBeUndefined()
  })

  test('that was released permits no more writes, and may be released twice', async () => {
    const lease = await take(local, newPath())
    lease.assertHeld()
    await lease.release()
    await lease.release()
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCKED' }))
  })

  test('can be awaited, and is granted after its holder releases it', async () => {
    const path = newPath()
    const lease = await take(local, path)
    const waiting = waitForLease(local, path, 'test', 3_600_000)
    await lease.release()
    const next = await waiting
    next?.assertHeld()
    await next?.release()
  })

  test('that is busy is retried, but not longer than asked', async () => {
    const path = newPath()
    await take(local, path)
    const tries = countLockTries()
    const time = holdClock()
    const waiting = waitForLease(local, path, 'test', 0)
    await waitFor(() => tries() > 1, 'another try')
    time.pass(50)
    expect(await waiting).toBeUndefined()
  })

  test('is no longer awaited after an abort signal', async () => {
    const path = newPath()
    await take(local, path)
    const stop = new AbortController()
    const waiting = waitForLease(local, path, 'test', 3_600_000, { signal: stop.signal })
    stop.abort()
    expect(await waiting).toBeUndefined()
  })
})

describe('a lease on a file system that is not local', () => {
  test('also takes a lock directory of its own user, and removes it on release', async () => {
    const path = newPath()
    const lease = await take(remote, path)
    expect(() => rmdirSync(`${lockDirectory(path)}/none`)).toThrow(
      expect.objectContaining({ code: 'ENOENT' }),
    )
    expect(statSync(lockDirectory(path)).mode & 0o777).toBe(0o700)
    expect(isHeld(remote, path)).toBe(true)
    await lease.release()
    expect(isHeld(remote, path)).toBe(false)
    expect(() => rmdirSync(lockDirectory(path))).toThrow(expect.objectContaining({ code: 'ENOENT' }))
  })

  test("is busy while another machine's lock directory exists, and releases its kernel lock", async () => {
    const path = newPath()
    mkdirSync(lockDirectory(path))
    writeFileSync(path, '')
    expect(await tryLease(remote, path, 'test')).toBeUndefined()
    expect(isHeld(remote, path)).toBe(true)
    expect(isHeld(local, path)).toBe(false)
    rmdirSync(lockDirectory(path))
    await take(remote, path)
  })

  test('never expires after its holder is killed, until a person removes the directory', async () => {
    const path = newPath()
    const holder = await Child.start()
    expect(await holder.ask({ do: 'try', system: remote, path })).toBe(true)
    await holder.kill()
    utimesSync(lockDirectory(path), new Date(0), new Date(0))
    expect(isHeld(local, path)).toBe(false)
    expect(await waitForLease(remote, path, 'test', 300)).toBeUndefined()
    expect(isHeld(remote, path)).toBe(true)
    expect(readHolder(path)).toMatchObject({ pid: holder.pid, command: 'test' })
    rmdirSync(lockDirectory(path))
    await take(remote, path)
  })

  test.each([
    ['was removed', (directory: string) => rmdirSync(directory)],
    [
      'was touched by another process',
      (directory: string) => utimesSync(directory, new Date(0), new Date(0)),
    ],
  ])('stops all writing when its directory %s', async (_, disturb) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const path = newPath()
    const lease = await take(remote, path)
    lease.assertHeld()
    disturb(lockDirectory(path))
    // At its next check, every 10 s.
    vi.advanceTimersByTime(10_000)
    await waitFor(() => !isValid(lease), 'the loss')
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCKED' }))
  })

  test('that cannot make its lock directory fails with STORAGE_FAILED and holds nothing', async () => {
    const path = newPath()
    // Longer than the maximum of a file name.
    const long = join(path, '..', 'l'.repeat(254))
    await expect(tryLease(remote, long, 'test')).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      facts: { errno: 'ENAMETOOLONG', path: lockDirectory(long) },
    })
    await take(local, long)
  })
})
