/** Locks of real processes that are killed, stopped or in another pid namespace, for each kind on this machine. */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { LockKind } from '../../../src/schema/files.js'
import { chooseLockKind } from '../../../src/storage/locks/kernel-lock.js'
import {
  isHeld,
  type KernelLease,
  readHolder,
  tryLease,
  waitForLease,
} from '../../../src/storage/locks/lease.js'
import { NOBODY, whyNoOtherUser } from '../../support/another-user.js'
import { failing, withFaults } from '../../support/faults.js'
import { Child, useChildren } from '../../support/storage-process.js'
import { tempDirectory } from '../../support/temp.js'
import { waitFor } from '../../support/wait.js'

useChildren()

const HAS: Record<LockKind, boolean> = {
  ofd: chooseLockKind() === 'ofd',
  flock: spawnSync('flock', ['--version']).status === 0,
}
const NAMESPACE = ['unshare', '-p', '-f', '--mount-proc', '--kill-child', process.execPath]
const hasNamespaces = spawnSync(NAMESPACE[0] as string, [...NAMESPACE.slice(1, -1), 'true']).status === 0
for (const [what, isThere] of Object.entries({ ...HAS, 'unshare -p': hasNamespaces }))
  if (!isThere) console.log(`skipped: this machine has no ${what}`)

function newLock(kind: LockKind) {
  return { path: join(tempDirectory(), 'lock'), system: { kind, isLocal: true } }
}

async function startHolder(lock: ReturnType<typeof newLock>, command?: string[]): Promise<Child> {
  const holder = await Child.start(command === undefined ? {} : { command })
  expect(await holder.ask({ do: 'try', ...lock })).toBe(true)
  return holder
}

function statOf(pid: number): string {
  return readFileSync(`/proc/${pid}/stat`, 'latin1')
}

function expectLease(lease: KernelLease | undefined): KernelLease {
  if (lease === undefined) throw new Error('the lock should have been free')
  return lease
}

describe.each(['ofd', 'flock'] as const)('a lock of kind %s', (kind) => {
  test.skipIf(!HAS[kind])(
    'stays held while its holder is stopped, and is free after the holder continues and releases it',
    async () => {
      const lock = newLock(kind)
      const holder = await startHolder(lock)
      holder.signal('SIGSTOP')
      await waitFor(() => /\) T /.test(statOf(holder.pid)), 'it to stop')
      expect(await waitForLease(lock.system, lock.path, 'test', 300)).toBeUndefined()
      expect(isHeld(lock.system, lock.path)).toBe(true)
      holder.signal('SIGCONT')
      await holder.ask({ do: 'release' })
      expect(isHeld(lock.system, lock.path)).toBe(false)
      await expectLease(await tryLease(lock.system, lock.path, 'test')).release()
    },
  )

  test.skipIf(!HAS[kind])('is free at once when a stopped holder is killed', async () => {
    const lock = newLock(kind)
    const holder = await startHolder(lock)
    holder.signal('SIGSTOP')
    await holder.kill()
    await expectLease(await tryLease(lock.system, lock.path, 'test')).release()
  })

  test.skipIf(!HAS[kind] || !hasNamespaces)(
    'stays held by a holder in another pid namespace (needs unshare -p)',
    async () => {
      const lock = newLock(kind)
      const holder = await startHolder(lock, NAMESPACE)
      expect(readHolder(lock.path)).toMatchObject({ pid: 1, command: 'test' })
      expect(await waitForLease(lock.system, lock.path, 'test', 200)).toBeUndefined()
      expect(isHeld(lock.system, lock.path)).toBe(true)
      await holder.kill()
      await expectLease(await waitForLease(lock.system, lock.path, 'test', 3_600_000)).release()
    },
  )

  test.skipIf(!HAS[kind] || !hasNamespaces)(
    'excludes a process in another pid namespace (needs unshare -p)',
    async () => {
      const lock = newLock(kind)
      const lease = expectLease(await tryLease(lock.system, lock.path, 'test'))
      const stranger = await Child.start({ command: NAMESPACE })
      expect(await stranger.ask({ do: 'try', ...lock })).toBe(false)
      expect(await stranger.ask({ do: 'probe', ...lock })).toBe(true)
      await lease.release()
      expect(await stranger.ask({ do: 'try', ...lock })).toBe(true)
      await stranger.kill()
    },
  )

  test.skipIf(!HAS[kind])('is not inherited by a child that outlives its holder', async () => {
    const lock = newLock(kind)
    const holder = await startHolder(lock)
    const child = (await holder.ask({ do: 'leave child' })) as number
    onTestFinished(() => void process.kill(child, 'SIGKILL'))
    await holder.kill()
    process.kill(child, 0)
    await expectLease(await tryLease(lock.system, lock.path, 'test')).release()
  })

  test.skipIf(!HAS[kind])('is free when its holder exits without a release, and its file stays', async () => {
    const lock = newLock(kind)
    const holder = await startHolder(lock)
    holder.signal('SIGTERM')
    await holder.ended()
    await expectLease(await tryLease(lock.system, lock.path, 'test')).release()
    expect(readHolder(lock.path)?.command).toBe('test')
  })

  const isRoot = process.getuid?.() === 0
  const cannotProbe = !HAS[kind] || (isRoot && whyNoOtherUser() !== undefined)
  test.skipIf(cannotProbe)('can be probed in a read-only home, and the probe writes nothing', async () => {
    const lock = newLock(kind)
    const directory = join(lock.path, '..')
    const lease = expectLease(await tryLease(lock.system, lock.path, 'test'))
    if (isRoot) chownSync(lock.path, NOBODY, NOBODY)
    chmodSync(lock.path, 0o400)
    chmodSync(directory, 0o555)
    onTestFinished(() => chmodSync(directory, 0o700))
    const reader = await Child.start(isRoot ? { uid: NOBODY } : {})
    await expect(reader.ask({ do: 'try', ...lock })).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(await reader.ask({ do: 'probe', ...lock })).toBe(true)
    await lease.release()
    expect(await reader.ask({ do: 'probe', ...lock })).toBe(false)
    expect(await reader.ask({ do: 'probe', system: lock.system, path: `${lock.path}.none` })).toBe(false)
    expect(readdirSync(directory)).toEqual(['lock'])
    await reader.kill()
  })

  test.skipIf(!HAS[kind])('held by a probe delays a writer only for the time of the probe', async () => {
    const lock = newLock(kind)
    writeFileSync(lock.path, '')
    expect(isHeld(lock.system, lock.path)).toBe(false)
    await expectLease(await tryLease(lock.system, lock.path, 'test')).release()
  })
})

test('a disk that fails the lock call is STORAGE_FAILED, not a missing kind of lock', async () => {
  const { path, system } = newLock('ofd')
  writeFileSync(path, '')
  withFaults(failing('EIO', ({ point }) => point === 'lock.take'))
  await expect(tryLease(system, path, 'test')).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: `cannot lock ${path}: EIO`,
    hint: expect.stringContaining('check the disk'),
  })
})

test('a file system without the lock is LOCK_UNSUPPORTED', async () => {
  const { path, system } = newLock('ofd')
  writeFileSync(path, '')
  // Node has no name for ENOLCK.
  for (const [code, named] of [
    ['EOPNOTSUPP', 'EOPNOTSUPP'],
    ['Unknown system error -37', 'ENOLCK'],
  ] as const) {
    withFaults(failing(code, ({ point }) => point === 'lock.take'))
    await expect(tryLease(system, path, 'test')).rejects.toMatchObject({
      code: 'LOCK_UNSUPPORTED',
      message: `the file system of the home has no ofd locks: ${named} on ${path}`,
      hint: expect.stringContaining('SUBSTRAT_HOME'),
    })
  }
})

describe('a process that cannot take one kind of lock', () => {
  const withoutAddons = { command: [process.execPath, '--no-addons'] }
  const withoutFlock = { env: { ...process.env, PATH: '/nonexistent' } }

  test('refuses ofd if the add-on does not load', async () => {
    const child = await Child.start(withoutAddons)
    const lock = newLock('ofd')
    for (const order of ['try', 'probe'] as const) {
      writeFileSync(lock.path, '')
      await expect(child.ask({ do: order, ...lock })).rejects.toMatchObject({
        code: 'LOCK_UNSUPPORTED',
        message: expect.stringContaining('uses ofd locks, which this process cannot take'),
        hint: expect.stringContaining('npm rebuild fs-native-extensions'),
      })
    }
    await child.kill()
  })

  test('refuses flock without flock(1)', async () => {
    const child = await Child.start(withoutFlock)
    await expect(child.ask({ do: 'try', ...newLock('flock') })).rejects.toMatchObject({
      code: 'LOCK_UNSUPPORTED',
      hint: expect.stringContaining('util-linux'),
    })
    await child.kill()
  })

  test.skipIf(!HAS.flock)('gives a new home the kind that it can take, or creates no home', async () => {
    const [full, small, none] = await Promise.all([
      Child.start(),
      Child.start(withoutAddons),
      Child.start({ ...withoutAddons, ...withoutFlock }),
    ])
    const root = (name: string): string => join(directory, name)
    const directory = tempDirectory()
    if (HAS.ofd)
      expect(await full.ask({ do: 'make home', root: root('full') })).toMatchObject({ lock: 'ofd' })
    expect(await small.ask({ do: 'make home', root: root('small') })).toMatchObject({ lock: 'flock' })
    await expect(none.ask({ do: 'make home', root: root('none') })).rejects.toMatchObject({
      code: 'LOCK_UNSUPPORTED',
    })
    expect(readdirSync(root('none'))).toEqual([])
    await Promise.all([full, small, none].map((child) => child.kill()))
  })
})
