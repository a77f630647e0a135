import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { environmentOf, ownIdentity, processStartTime } from '../../src/host/identity.js'
import { killEscaped, killGroup, killOrphanedGroup, tagOfRun } from '../../src/provider/process-group.js'
import type { ProcessGroup } from '../../src/schema/types.js'
import { isAlive, recordedHost } from '../support/programs.js'
import { useScripts } from '../support/scripts.js'
import { tempDirectory } from '../support/temp.js'
import { holdClock } from '../support/time.js'
import { waitFor } from '../support/wait.js'

const scripts = useScripts('launch-child.ts')
const signal = new AbortController().signal
let directory: string

beforeEach(() => {
  directory = tempDirectory()
})

function there(name: string): boolean {
  return existsSync(join(directory, name)) && readFileSync(join(directory, name), 'utf8').endsWith('\n')
}

function pidIn(name: string): number {
  return Number(readFileSync(join(directory, name), 'utf8'))
}

function pidsOf(command: string): number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => commandLineOf(pid) === command)
}

/** Empty for a process that has exited meanwhile. */
function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1).join(' ')
  } catch {
    return ''
  }
}

describe('the start barrier', () => {
  const touch: [string, ...string[]] = ['/bin/sh', '-c', 'echo ran > ran']

  test('opens when the record of the group is durable, not earlier', async () => {
    let hadRun: boolean | undefined
    const { host, groups } = recordedHost(() => {
      // Long enough to notice a program that does not wait at the barrier.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
      hadRun = there('ran')
    })
    const program = await host.launch({ argv: touch, cwd: directory }, { signal })
    expect(await program.exited).toEqual({ code: 0, signal: null })
    expect(hadRun).toBe(false)
    expect(there('ran')).toBe(true)
    expect(groups).toHaveLength(1)
  })

  test('stays shut if the record cannot be written, and the shell exits', async () => {
    const { host, groups } = recordedHost(() => {
      throw new Error('the disk is full')
    })
    await expect(host.launch({ argv: touch, cwd: directory }, { signal })).rejects.toThrow('the disk is full')
    expect(isAlive(groups[0]?.process_group as number)).toBe(false)
    expect(there('ran')).toBe(false)
  })

  test('stays shut if substrat is killed before the record: the program does not run', async () => {
    const child = scripts.start('launch-child.ts', [directory, 'hold the record'])
    await waitFor(() => there('group'), 'the fork')
    const group = pidIn('group')
    expect(isAlive(group)).toBe(true)
    child.kill('SIGKILL')
    await waitFor(() => !isAlive(group), 'the end of the shell at the barrier')
    expect(existsSync(join(directory, 'ran'))).toBe(false)
  })
})

describe('a launched program', () => {
  test('settles its exit although its children hold its output open', async () => {
    const { host } = recordedHost()
    const argv: [string, ...string[]] = ['/bin/sh', '-c', 'sleep 3600 & exit 3']
    const program = await host.launch({ argv, cwd: directory }, { signal })
    expect(await program.exited).toEqual({ code: 3, signal: null })
    await program.kill(0)
  })

  test('is killed with its whole group; a second kill does nothing', async () => {
    const { host } = recordedHost()
    const command = 'sleep 3600 & echo $! > child; sh -c "sleep 3600 & wait" & echo $$ > self; wait'
    const program = await host.launch({ argv: ['/bin/sh', '-c', command], cwd: directory }, { signal })
    await waitFor(() => there('child') && there('self'), 'the program')
    await program.kill(0)
    expect([pidIn('child'), pidIn('self')].map(isAlive)).toEqual([false, false])
    expect((await program.exited).signal).toBe('SIGKILL')
    await program.kill(1000)
  })

  test('gets SIGTERM first, and may exit within the grace time', async () => {
    const { host } = recordedHost()
    const command = 'trap "echo bye > bye; exit 0" TERM; echo > ready; while :; do sleep 0.02; done'
    const program = await host.launch({ argv: ['/bin/sh', '-c', command], cwd: directory }, { signal })
    await waitFor(() => there('ready'), 'the program')
    await program.kill(3_600_000)
    expect(there('bye')).toBe(true)
  })

  test('that does not exist exits as in a shell', async () => {
    const { host } = recordedHost()
    const program = await host.launch({ argv: ['/no/such/program'], cwd: directory }, { signal })
    expect((await program.exited).code).toBe(127)
  })

  test('gets its arguments unchanged', async () => {
    const { host } = recordedHost()
    const argv: [string, ...string[]] = ['/bin/echo', '$(id)', "it's", '-n', 'a  b']
    const program = await host.launch({ argv, cwd: directory, env: { X: '1' } }, { signal })
    const pieces: Buffer[] = []
    for await (const piece of program.stdout) pieces.push(piece as Buffer)
    expect(Buffer.concat(pieces).toString()).toBe("$(id) it's -n a  b\n")
  })
})

test('a group whose number was reused gets no signal, even without a tag', async () => {
  const { host, groups } = recordedHost()
  const program = await host.launch({ argv: ['/bin/sleep', '600'], cwd: directory }, { signal })
  const [group] = groups as [ProcessGroup]
  const earlier = { ...group, start_time: group.start_time - 1 }
  await killGroup(earlier, undefined, 0)
  expect(isAlive(group.process_group)).toBe(true)
  await killGroup(group, undefined, 0)
  expect(await program.exited).toEqual({ code: null, signal: 'SIGKILL' })
})

describe('recovery kills in a group', () => {
  const runId = randomUUID()

  /** Starts a group whose leader has our SUBSTRAT_RUN, unless `env` overrides it. */
  async function group(
    command: string,
    env: Record<string, string> = { SUBSTRAT_RUN: runId },
  ): Promise<ProcessGroup> {
    const child = spawn('/bin/sh', ['-c', `${command}\necho > ready; wait`], {
      detached: true,
      cwd: directory,
      stdio: 'ignore',
      env: { PATH: process.env.PATH, ...env },
    })
    onTestFinished(() => end(child))
    await waitFor(() => there('ready'), 'the group')
    const { kernel_boot_id, pid_namespace } = ownIdentity()
    const pid = child.pid as number
    return { process_group: pid, start_time: processStartTime(pid) ?? 0, kernel_boot_id, pid_namespace }
  }

  test('every process with our SUBSTRAT_RUN', async () => {
    const left = await group('sleep 3600 & echo $! > child')
    expect(await killOrphanedGroup(left, runId)).toBe('killed')
    expect([left.process_group, pidIn('child')].map(isAlive)).toEqual([false, false])
    expect(await killOrphanedGroup(left, runId)).toBe('gone')
  })

  test('no process of another run, as after a reuse of the number', async () => {
    const left = await group('sleep 3600 & echo $! > child', { SUBSTRAT_RUN: randomUUID() })
    expect(await killOrphanedGroup(left, runId)).toBe('gone')
    expect([left.process_group, pidIn('child')].map(isAlive)).toEqual([true, true])
  })

  test('no process that cleared its environment, and reports it as alive: it may belong to another program', async () => {
    const left = await group('env -i sleep 3600 & echo $! > child')
    await waitFor(() => commandOf(pidIn('child')) === 'sleep', 'the exec of the child')
    expect(await killOrphanedGroup(left, runId)).toBe('alive')
    expect(isAlive(left.process_group)).toBe(false)
    expect(isAlive(pidIn('child'))).toBe(true)
    expect(await killOrphanedGroup(left, runId)).toBe('alive')
    process.kill(pidIn('child'), 'SIGKILL')
  })

  test('no exiting process, which has no environment; it waits for its end and does not report it as alive', async () => {
    const left = await group('env -i sleep 3600 & echo $! > child')
    await waitFor(() => commandOf(pidIn('child')) === 'sleep', 'the exec of the child')
    // Without a time limit.
    holdClock()
    const killing = killOrphanedGroup(left, runId)
    await waitFor(() => !isAlive(left.process_group), 'the end of its leader')
    process.kill(pidIn('child'), 'SIGKILL')
    expect(await killing).toBe('killed')
    expect(isAlive(pidIn('child'))).toBe(false)
  })

  test('and also processes that an agent program started in other sessions, but none of another run', async () => {
    const left = await group('setsid sleep 3600 & SUBSTRAT_RUN=other setsid sleep 3601 & :')
    const strays = (): number[] =>
      pidsOf('sleep 3600').filter((pid) => environmentOf(pid, 'SUBSTRAT_RUN') === runId)
    const strangers = (): number[] =>
      pidsOf('sleep 3601').filter((pid) => environmentOf(pid, 'SUBSTRAT_RUN') === 'other')
    // Until its exec, the process is a shell of our run.
    await waitFor(() => strangers().length === 1, 'the stranger')
    const [stranger] = strangers() as [number]
    onTestFinished(() => void process.kill(stranger, 'SIGKILL'))
    await waitFor(() => strays().length === 1, 'the stray')
    const [stray] = strays() as [number]
    expect(await killEscaped({ ...left, kernel_boot_id: 'another start' }, tagOfRun(runId))).toBe(0)
    expect(await killEscaped({ ...left, start_time: Number.MAX_SAFE_INTEGER }, tagOfRun(runId))).toBe(0)
    expect(await killEscaped(left, tagOfRun(runId))).toBeGreaterThan(0)
    await waitFor(() => !isAlive(stray), 'its death')
    expect(isAlive(stranger)).toBe(true)
    expect(await killEscaped(left, tagOfRun(runId))).toBe(0)
  })

  test('no process that left the group for its own session', async () => {
    const left = await group('setsid sleep 3600 & echo $! > child')
    await waitFor(() => commandOf(pidIn('child')) === 'sleep', 'the new session')
    expect(await killOrphanedGroup(left, runId)).toBe('killed')
    expect(isAlive(pidIn('child'))).toBe(true)
    process.kill(pidIn('child'), 'SIGKILL')
  })

  describe('in a home that is a copy', () => {
    const homeOfRun = (name: string): Record<string, string> => ({
      SUBSTRAT_RUN: runId,
      SUBSTRAT_HOME: join(directory, name),
    })
    beforeEach(() => {
      for (const name of ['home', 'other']) mkdirSync(join(directory, name))
      symlinkSync('home', join(directory, 'link'))
    })

    test('no process of the original home, whose run it is', async () => {
      const left = await group('setsid sleep 3600 & echo $! > child', homeOfRun('other'))
      const home = join(directory, 'home')
      await waitFor(() => commandOf(pidIn('child')) === 'sleep', 'the stray')
      onTestFinished(() => void process.kill(pidIn('child'), 'SIGKILL'))
      expect(await killOrphanedGroup(left, runId, home)).toBe('alive')
      expect(await killEscaped(left, tagOfRun(runId, home))).toBe(0)
      expect([left.process_group, pidIn('child')].map(isAlive)).toEqual([true, true])
    })

    test.each([
      ['which is reached by a symlink', 'link', 'link/log'],
      ['which was moved', 'gone', 'gone/log'],
      ['which use another home', 'other', 'home/agents/a/log'],
    ])('processes of that home, %s', async (_, name, log) => {
      const left = await group('sleep 3600 &', { ...homeOfRun(name), SUBSTRAT_LOG: join(directory, log) })
      expect(await killOrphanedGroup(left, runId, join(directory, 'home'))).toBe('killed')
    })
  })

  test('no process that is older than the record', async () => {
    const left = await group('sleep 3600 &')
    expect(await killOrphanedGroup({ ...left, start_time: left.start_time + 1_000_000 }, runId)).toBe('gone')
    expect(isAlive(left.process_group)).toBe(true)
  })

  test('no process after a reboot or in another pid namespace', async () => {
    const left = await group('sleep 3600 &')
    expect(await killOrphanedGroup({ ...left, kernel_boot_id: randomUUID() }, runId)).toBe('gone')
    expect(await killOrphanedGroup({ ...left, pid_namespace: '1' }, runId)).toBe('foreign')
    expect(isAlive(left.process_group)).toBe(true)
  })
})

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
}

function end(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL')
  } catch {
    // The process has exited already.
  }
}
