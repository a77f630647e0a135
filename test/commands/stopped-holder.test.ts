/** A process of substrat that holds an agent and is stopped: by SIGSTOP, a debugger or a frozen container. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { processState } from '../../src/host/identity.js'
import { House, type Running } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { atWork } from '../support/waiting.js'

const RUN_JS = path.join(import.meta.dirname, '..', '..', 'bin', 'run.js')

interface Stopped {
  house: House
  id: string
  holder: Running
  pid: number
}

async function stopped(): Promise<Stopped> {
  const { house, id, first } = await atWork()
  const pid = (await house.ok('show', 'a', '--json')).json.holder.pid as number
  process.kill(pid, 'SIGSTOP')
  await waitFor(() => processState(pid) === 'T', 'the stop')
  return { house, id, holder: first, pid }
}

async function goOn({ house, holder, pid }: Stopped): Promise<number | null> {
  writeFileSync(`${house.workspace}/go`, '')
  process.kill(pid, 'SIGCONT')
  return (await holder.result).exit
}

describe.concurrent('while the process of a turn is stopped', () => {
  test('show says so, and names the command that continues it', async () => {
    const found = await stopped()
    const { json } = await found.house.ok('show', 'a', '--json')
    expect(json).toMatchObject({
      trouble: `its process, pid ${found.pid}, is stopped`,
      next: `kill -CONT ${found.pid}`,
    })
    expect(await goOn(found)).toBe(0)
    expect((await found.house.ok('show', 'a', '--json')).json.trouble).toBeNull()
  })

  test('a message that cannot wait is refused with both remedies', async () => {
    const found = await stopped()
    const { exit, stderr } = await found.house.run(['send', 'a', 'hi', '--if-busy', 'fail'])
    expect(exit).toBe(4)
    expect(stderr).toContain('that process is stopped (its last record is of ')
    expect(stderr).toContain(`(continue it: kill -CONT ${found.pid}; or end it: substrat cancel a --force`)
    expect(await goOn(found)).toBe(0)
  })

  test.each([
    ['a message that waits', ['send', 'a', 'hi']],
    ['suspend', ['suspend', 'a']],
    ['cancel', ['cancel', 'a']],
  ])('%s learns it before the time is up', async (_, args) => {
    const found = await stopped()
    const waiting = found.house.start(args)
    await waiting.says(`is stopped (its last record is of `)
    waiting.child.kill('SIGKILL')
    await waiting.result
    await goOn(found)
  })

  test('cancel --force kills it, and ends the turn; the agent takes the next message', async () => {
    const { house, id, holder, pid } = await stopped()
    const { stdout, stderr } = await house.ok('cancel', 'a', '--force')
    expect(stdout).toBe('a: cancelled\n')
    expect(stderr).toContain(`killing pid ${pid} (substrat send)`)
    await holder.result
    expect(holder.child.signalCode).toBe('SIGKILL')
    expect(house.count(id, 'run.cancelled')).toBe(1)
    writeFileSync(`${house.workspace}/go`, '')
    expect((await house.run(['send', 'a', 'hi'])).exit).toBe(0)
    expect(house.findings(true)).toEqual([])
  })
})

test('cancel --force kills a process that works and does not end its turn in time', async () => {
  const { house, holder } = await stopped().then(async (found) => {
    process.kill(found.pid, 'SIGCONT')
    return found
  })
  expect((await house.ok('cancel', 'a', '--force')).stdout).toBe('a: cancelled\n')
  await holder.result
})

test('cancel --force refuses to kill the process of another container, whose number means another one here', async () => {
  const found = await stopped()
  const lock = found.house.agentFile(found.id, 'lock')
  // In place: the process keeps its lock on this file.
  writeFileSync(
    lock,
    readFileSync(lock, 'utf8').replace(/(?<="boot_id":"[^/]+\/)\d+/, (own) => '1'.repeat(own.length)),
    { flag: 'r+' },
  )
  const { exit, stderr } = await found.house.run(['cancel', 'a', '--force'])
  expect(exit).toBe(4)
  expect(stderr).toContain('cannot be killed from here: it runs in another container or on another machine')
  expect(stderr).toContain('it was asked to stop and will stop as soon as it can')
  expect(stderr).toContain(`(end it there: kill -9 ${found.pid}`)
  expect(processState(found.pid)).toBe('T')
  await goOn(found)
})

test('an agent cannot kill a process of substrat', async () => {
  const house = new House()
  const scenario = house.scenario('s.json', {
    tools: [{ name: 'shell', input: { command: `${process.execPath} ${RUN_JS} cancel other --force 2>&1` } }],
  })
  await house.spawn('other')
  const id = await house.spawn('a', '--option', scenario, '--allow', 'shell')
  await house.run(['send', 'a', 'go'])
  expect(JSON.stringify(house.records(id))).toContain('kill a process of substrat')
})
