/** A program dies with the process that started it, without a later command. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { ownIdentity, processStartTime } from '../../src/host/identity.js'
import { killOrphanedGroup, type ProcessTag } from '../../src/provider/process-group.js'
import type { ProcessGroup } from '../../src/schema/types.js'
import { commandLine, watchersOf } from '../support/processes.js'
import { isAlive, recordedHost } from '../support/programs.js'
import { useScripts } from '../support/scripts.js'
import { tempDirectory } from '../support/temp.js'
import { holdClock } from '../support/time.js'
import { waitFor } from '../support/wait.js'

const scripts = useScripts('launch-child.ts', 'leash-child.ts')
const signal = new AbortController().signal
const UNUSED = 'c0ffee00-0000-4000-8000-000000000000'
let directory: string

beforeEach(() => {
  directory = tempDirectory()
})

/** A running program with its own holder. The files `pids` have its process ids. */
async function launched(
  command: string,
  ...names: string[]
): Promise<{ holder: ChildProcess; pids: number[] }> {
  return launchedUnder({}, command, ...names)
}

async function launchedUnder(
  env: Record<string, string>,
  command: string,
  ...names: string[]
): Promise<{ holder: ChildProcess; pids: number[] }> {
  const holder = scripts.start('launch-child.ts', [directory, 'record', command], env)
  await waitFor(() => names.every(isThere), 'the program')
  const pids = names.map(pidIn)
  onTestFinished(() => void pids.filter(isAlive).map((pid) => process.kill(pid, 'SIGKILL')))
  return { holder, pids }
}

function isThere(name: string): boolean {
  return existsSync(join(directory, name)) && readFileSync(join(directory, name), 'utf8').endsWith('\n')
}

function pidIn(name: string): number {
  return Number(readFileSync(join(directory, name), 'utf8'))
}

function statOf(pid: number): { parent: number; group: number; session: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const [, parent, group, session] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  return { parent: parent as number, group: group as number, session: session as number }
}

/** The open descriptors of a process, without those that a shell opens for itself. */
function descriptorsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => Number(fd) < 10)
}

async function end(pids: number[], group: number): Promise<void> {
  await waitFor(() => !pids.some(isAlive), 'the end of the program')
  await waitFor(() => watchersOf(group).length === 0, 'the end of the watcher')
}

describe('when its holder is killed', () => {
  const ALL = [
    'sleep 3600 & echo $! > child',
    'setsid sh -c "echo \\$\\$ > apart; exec sleep 3600" &',
    'env -i sleep 3600 & echo $! > nameless',
    'trap "" HUP INT TERM; echo $$ > self; sleep 3600; sleep 3600',
  ].join('\n')

  test('the whole program dies, and its children in other groups', async () => {
    const { holder, pids } = await launched(ALL, 'self', 'child', 'apart', 'nameless')
    expect(pids.map(isAlive)).toEqual([true, true, true, true])
    holder.kill('SIGKILL')
    await end(pids, pids[0] as number)
  })

  test('also if every process got SIGTERM before, as in a shutdown', async () => {
    const { holder, pids } = await launched(ALL, 'self', 'child', 'apart')
    const [group] = pids as [number]
    await waitFor(() => watchersOf(group).length === 1, 'the watcher')
    const [watcher] = watchersOf(group) as [number]
    await waitFor(() => ignoresTerm(watcher), 'the watcher to ignore it')
    for (const name of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) process.kill(watcher, name)
    expect(watchersOf(group)).toEqual([watcher])
    holder.kill('SIGKILL')
    await end(pids, group)
  })

  test('also if the watcher was killed: it is replaced', async () => {
    const { holder, pids } = await launched(ALL, 'self')
    const [group] = pids as [number]
    const [first] = watchersOf(group) as [number]
    process.kill(first, 'SIGKILL')
    await waitFor(() => watchersOf(group).some((pid) => pid !== first), 'another watcher')
    holder.kill('SIGKILL')
    await end(pids, group)
  })

  test('also if PATH has no programs', async () => {
    const command =
      'PATH=/usr/bin:/bin; setsid sh -c "echo \\$\\$ > apart; exec sleep 600" & echo $$ > self; wait'
    const { holder, pids } = await launchedUnder({ PATH: '/nowhere' }, command, 'self', 'apart')
    holder.kill('SIGKILL')
    await end(pids, pids[0] as number)
  })

  test('also if the name of the program has newlines', async () => {
    // It has cleared its environment, so only its group identifies it.
    const named = 'ln -s "$(command -v sleep)" "a) S 1\n2"; echo $$ > self; exec env -i ./a* 600'
    const { holder, pids } = await launched(named, 'self')
    await waitFor(() => commandLine(pids[0] as number)[0]?.startsWith('./a') === true, 'the program')
    holder.kill('SIGKILL')
    await end(pids, pids[0] as number)
  })

  test('a group without its leader dies too', async () => {
    const { holder, pids } = await launched('(echo $$ > group; sleep 3600 & echo $! > child)', 'child')
    await waitFor(() => !isAlive(pidIn('group')), 'the exit of the leader')
    holder.kill('SIGKILL')
    await end(pids, pidIn('group'))
  })

  test('recovery may run at once: it finds the group gone or kills it, and kills no other process', async () => {
    const { holder, pids } = await launched(ALL, 'self', 'child')
    const group = JSON.parse(readFileSync(join(directory, 'record'), 'utf8')) as ProcessGroup & {
      run: string
    }
    // A process without a visible environment, such as one of these, is killed only by the watcher, without a time limit.
    holdClock()
    holder.kill('SIGKILL')
    expect(['gone', 'killed']).toContain(await killOrphanedGroup(group, group.run))
    expect(pids.map(isAlive)).toEqual([false, false])
  })
})

describe('the watcher', () => {
  test('exits with the program, and delays nothing', async () => {
    const { host, groups } = recordedHost()
    const command = 'trap "exit 0" TERM; echo > ready; while :; do sleep 0.02; done'
    const program = await host.launch({ argv: ['/bin/sh', '-c', command], cwd: directory }, { signal })
    const group = groups[0]?.process_group as number
    await waitFor(() => isThere('ready') && watchersOf(group).length === 1, 'the program and its watcher')
    // If the watcher counted as part of the program, `kill` would wait for the whole grace time.
    await program.kill(3_600_000)
    await waitFor(() => watchersOf(group).length === 0, 'the end of the watcher')
  })

  test('is a child of the holder, not of the program, and shares no pipe with the program', async () => {
    const { holder, pids } = await launched('sleep 3600 & echo $$ > self; wait', 'self')
    const [group] = pids as [number]
    await waitFor(() => watchersOf(group).length === 1, 'the watcher')
    const [watcher] = watchersOf(group) as [number]
    expect(statOf(watcher)).toEqual({ parent: holder.pid, group: watcher, session: watcher })
    expect(readFileSync(`/proc/${group}/task/${group}/children`, 'utf8').trim().split(' ')).toHaveLength(1)
    expect(descriptorsOf(group)).toEqual(['0', '1', '2'])
    expect(descriptorsOf(watcher)).toEqual(['0', '1', '2', '3'])
    expect(readFileSync(`/proc/${watcher}/environ`, 'utf8')).not.toContain('SUBSTRAT_')
  })

  test.each<[string, Partial<ProcessGroup>, Partial<ProcessTag>, boolean]>([
    ['kills a group by its leader', {}, { value: UNUSED }, false],
    ['does not kill a group whose number was reused', { start_time: 1 }, { value: UNUSED }, true],
    ['kills a group without its leader by its tag', { process_group: 2 ** 22 - 1 }, {}, false],
  ])('%s', async (_, changed, other, survives) => {
    const { group, tag } = await stranger()
    const given = [
      { ...group, ...changed },
      { ...tag, ...other },
    ].map((each) => JSON.stringify(each))
    const holder = scripts.start('leash-child.ts', given)
    await new Promise((resolve) => holder.stdout?.once('data', resolve))
    holder.kill('SIGKILL')
    await waitFor(
      () => watchersOf({ ...group, ...changed }.process_group).length === 0,
      'the end of the watcher',
    )
    expect(isAlive(group.process_group)).toBe(survives)
  })

  test('does not kill a released program', async () => {
    const { group, tag } = await stranger()
    const holder = scripts.start('leash-child.ts', [JSON.stringify(group), JSON.stringify(tag), 'release'])
    await new Promise((resolve) => holder.stdout?.once('data', resolve))
    await waitFor(() => watchersOf(group.process_group).length === 0, 'the end of the watcher')
    holder.kill('SIGKILL')
    expect(isAlive(group.process_group)).toBe(true)
  })
})

/** A program without a holder. */
async function stranger(): Promise<{ group: ProcessGroup; tag: ProcessTag }> {
  const tag: ProcessTag = { variable: 'SUBSTRAT_LAUNCH', value: crypto.randomUUID() }
  const child = spawn('/bin/sleep', ['3600'], {
    detached: true,
    stdio: 'ignore',
    env: { [tag.variable]: tag.value },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const pid = child.pid as number
  await waitFor(() => commandLine(pid)[0] === '/bin/sleep', 'the program')
  const { kernel_boot_id, pid_namespace } = ownIdentity()
  return {
    group: { process_group: pid, start_time: processStartTime(pid) ?? 0, kernel_boot_id, pid_namespace },
    tag,
  }
}

/** Whether the shell has run its `trap`. */
function ignoresTerm(pid: number): boolean {
  const ignored = /SigIgn:\s*([0-9a-f]+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return ignored !== undefined && (BigInt(`0x${ignored}`) & (1n << 14n)) !== 0n
}
