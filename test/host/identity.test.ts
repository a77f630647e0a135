import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  bootId,
  environmentOf,
  hostName,
  ownIdentity,
  processGroup,
  processStartTime,
} from '../../src/host/identity.js'
import { readHolder } from '../../src/storage/locks/lease.js'
import { Child, useChildren } from '../support/storage-process.js'
import { tempDirectory } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

useChildren()

const hasProc = existsSync('/proc/self/stat')
if (!hasProc) console.log('skipped: this machine has no /proc')
const NAMESPACE = ['unshare', '-p', '-f', '--mount-proc', '--kill-child', process.execPath]
const hasNamespaces = spawnSync(NAMESPACE[0] as string, [...NAMESPACE.slice(1, -1), 'true']).status === 0
if (!hasNamespaces) console.log('skipped: this machine has no unshare -p')

function start(command: string, args: string[], options = {}): ChildProcess & { pid: number } {
  const child = spawn(command, args, { stdio: 'ignore', ...options })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child as ChildProcess & { pid: number }
}

function statOf(pid: number): string {
  return readFileSync(`/proc/${pid}/stat`, 'latin1')
}

test.skipIf(!hasProc)('the environment of a process is found during its exec', () => {
  const script = join(tempDirectory(), 'again')
  writeFileSync(script, 'exec /bin/sh "$0"\n')
  const { pid } = start('/bin/sh', [script], { env: { MARK: 'its' } })
  // Before exec, it is a copy of this process.
  while (environmentOf(pid, 'MARK') === undefined);
  const values = new Set(Array.from({ length: 5000 }, () => environmentOf(pid, 'MARK')))
  expect([...values]).toEqual(['its'])
})

describe('the identity of a process', () => {
  test('is its kernel boot, pid namespace, pid and start time, and does not change', () => {
    const own = ownIdentity()
    expect(own.pid).toBe(process.pid)
    expect(ownIdentity()).toEqual(own)
    expect(bootId()).toBe(`${own.kernel_boot_id}/${own.pid_namespace}/${own.pid}/${own.start_time}`)
    expect(hostName()).toBe(hostname())
  })

  test.skipIf(!hasProc)('matches /proc (needs /proc)', () => {
    const own = ownIdentity()
    expect(own.kernel_boot_id).toBe(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
    expect(own.pid_namespace).toMatch(/^\d{5,}$/)
    expect(own.start_time).toBeGreaterThan(0)
  })

  test.skipIf(!hasNamespaces)(
    'differs for the same pid in another namespace (needs unshare -p)',
    async () => {
      const path = join(tempDirectory(), 'lock')
      const lock = { system: { kind: 'ofd', isLocal: true } as const, path }
      const stranger = await Child.start({ command: NAMESPACE })
      expect(await stranger.ask({ do: 'try', ...lock })).toBe(true)
      const [kernel, namespace, pid] = (readHolder(path)?.boot_id ?? '').split('/')
      expect(kernel).toBe(ownIdentity().kernel_boot_id)
      expect(namespace).not.toBe(ownIdentity().pid_namespace)
      expect(pid).toBe('1')
      await stranger.kill()
    },
  )
})

describe.skipIf(!hasProc)('a process in /proc (needs /proc)', () => {
  test('is parsed correctly with any command name', async () => {
    const sleep = spawnSync('sh', ['-c', 'command -v sleep'], { encoding: 'utf8' }).stdout.trim()
    const odd = join(tempDirectory(), 'a) R 1 (b')
    symlinkSync(sleep, odd)
    const child = start(odd, ['3600'], { detached: true, env: { SUBSTRAT_RUN: 'run=7', OTHER: '' } })
    await waitFor(() => statOf(child.pid).includes('(a) R 1 (b)'), 'its exec')
    expect(processGroup(child.pid)).toBe(child.pid)
    expect(processStartTime(child.pid)).toBeGreaterThanOrEqual(ownIdentity().start_time)
    expect(environmentOf(child.pid, 'SUBSTRAT_RUN')).toBe('run=7')
    expect(environmentOf(child.pid, 'OTHER')).toBe('')
    expect(environmentOf(child.pid, 'SUBSTRAT')).toBeUndefined()
  })

  test('that does not exist has no facts', async () => {
    const child = start('true', [])
    await new Promise((resolve) => child.once('exit', resolve))
    expect(processStartTime(child.pid)).toBeUndefined()
    expect(processGroup(child.pid)).toBeUndefined()
    expect(environmentOf(child.pid, 'PATH')).toBeUndefined()
  })

  test('that is a zombie counts as outside its group', async () => {
    // The shell execs a sleep, which never reaps the child that it inherited.
    const parent = start('sh', ['-c', 'sh -c "echo \\$\\$ >&3" & exec sleep 3600'], {
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    })
    const pid = await new Promise<number>((resolve) => {
      parent.stdio[3]?.once('data', (text: Buffer) => resolve(Number(text)))
    })
    await waitFor(() => /\) Z /.test(statOf(pid)), 'its end')
    expect(processGroup(pid)).toBeUndefined()
    expect(processGroup(parent.pid)).toBe(parent.pid)
  })
})
