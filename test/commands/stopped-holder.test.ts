/** A process of substrat that holds an agent and is stopped: by SIGSTOP, a debugger or a frozen container. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
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
  test('show and list say so and since when nothing was heard, with the commands that continue or end it', async () => {
    const found = await stopped()
    const { house, pid } = found
    const advice = `continue it: kill -CONT ${pid}; or end it: substrat cancel a --force`
    const why = `its process, pid ${pid}, is stopped (its last record is of `
    const { json } = await house.ok('show', 'a', '--json')
    const trouble = `${why}${json.agent.updated_at.replace(/\.\d+/, '')})`
    expect(json).toMatchObject({ trouble, preview: trouble, next: `kill -CONT ${pid}`, advice })
    expect(json.agent).toMatchObject({ shown_status: 'running', stopped: true })
    const { stdout } = await house.ok('show', 'a')
    expect(stdout).toContain(`\nnext         ${advice}\n`)
    expect(stdout).toContain(`\nreason       ${why}`)
    expect((await house.ok('list', '--json')).json.agents).toMatchObject([{ stopped: true }])
    expect(await goOn(found)).toBe(0)
    const after = (await house.ok('show', 'a', '--json')).json
    expect(after.trouble).toBeNull()
    expect(after.agent).not.toHaveProperty('stopped')
  })

  test.each([
    ['wait', ['wait', 'a']],
    ['wait --all', ['wait', '--all']],
  ])('%s says so while it waits, and then waits for the end of the turn', async (_, args) => {
    const found = await stopped()
    const waiting = found.house.start(args)
    await waiting.says(`pid ${found.pid} (substrat send), which holds a, is stopped (its last record is of `)
    await waiting.says(`continue it: kill -CONT ${found.pid}; or end it: substrat cancel a --force`)
    await goOn(found)
    expect((await waiting.result).exit).toBe(0)
  })

  test('a wait whose time is up names it as the cause', async () => {
    const found = await stopped()
    const { exit, stderr } = await found.house.run(['wait', 'a', '--timeout', '1ms'])
    expect(exit).toBe(12)
    expect(stderr).toContain(`timed out waiting for a: its process, pid ${found.pid}, is stopped`)
    expect(stderr).toContain(`(continue it: kill -CONT ${found.pid}; or end it: substrat cancel a --force`)
    await goOn(found)
  })

  test('recover --all and deliver --all leave it and say so', async () => {
    const found = await stopped()
    const recovered = await found.house.ok('recover', '--all')
    expect(recovered.stdout).toContain(`: its process, pid ${found.pid}, is stopped (its last record is of `)
    expect(recovered.stdout).toContain('substrat cancel a --force')
    await found.house.ok('send', 'a', 'later', '--queue')
    const delivered = await found.house.ok('deliver', '--all')
    expect(delivered.stderr).toContain(`pid ${found.pid} (substrat send), which holds a, is stopped`)
    await goOn(found)
  })

  test.each([
    ['cancel', 'SIGINT', 130, 'see whether it has ended: substrat show a'],
    ['suspend', 'SIGTERM', 143, 'see whether it has ended: substrat show a'],
    ['terminate', 'SIGHUP', 129, 'the agent is not terminated yet: substrat terminate a'],
  ] as const)('%s that %s ends says that its request stands', async (verb, signal, exit, next) => {
    const found = await stopped()
    const asking = found.house.start([verb, 'a'])
    await asking.says('is stopped (its last record is of ')
    await waitFor(() => existsSync(found.house.agentFile(found.id, 'requests')), 'the request')
    asking.child.kill(signal)
    const ended = await asking.result
    expect(ended.exit).toBe(exit)
    expect(ended.stderr).toContain(
      `stopped by ${signal}, but the request stands: the turn of a was asked to stop, and will stop as soon as possible (${next})`,
    )
    // True: nothing else stops the turn, whose model would wait for ever.
    process.kill(found.pid, 'SIGCONT')
    expect((await found.holder.result).exit).not.toBe(0)
    expect(found.house.kinds(found.id)).not.toContain('run.completed')
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
  // The time is shorter than that which a process gets to end its turn itself.
  const { exit, stderr } = await found.house.run(['cancel', 'a', '--force', '--timeout', '200ms'])
  expect(exit).toBe(4)
  expect(stderr).toContain(
    'cannot be killed from here: it runs in another container (pid namespace) of this machine',
  )
  expect(stderr).toContain('it was asked to stop and will stop as soon as it can')
  expect(stderr).toContain(`(end it there: kill -9 ${found.pid}; or run the same command there`)
  expect(processState(found.pid)).toBe('T')
  await goOn(found)
})

const NAMESPACE = ['-p', '-f', '--mount-proc', '--kill-child']
const hasNamespaces = spawnSync('unshare', [...NAMESPACE, 'true']).status === 0

test.skipIf(!hasNamespaces)(
  'cancel --force in another pid namespace says where the process is (needs unshare -p)',
  async () => {
    const found = await stopped()
    const { house, pid } = found
    const force = [process.execPath, RUN_JS, 'cancel', 'a', '--force', '--timeout', '2s']
    const env = { ...process.env, ...house.env, SUBSTRAT_HOME: house.home }
    const { status, stderr } = spawnSync('unshare', [...NAMESPACE, ...force], { env, encoding: 'utf8' })
    expect(status).toBe(4)
    expect(stderr).toContain('it runs in another container (pid namespace) of this machine')
    expect(stderr).toContain(`(end it there: kill -9 ${pid}; or run the same command there`)
    expect(processState(pid)).toBe('T')
    await goOn(found)
  },
)

test('cancel --force kills a stopped process within a short --timeout', async () => {
  const { house, holder } = await stopped()
  expect((await house.ok('cancel', 'a', '--force', '--timeout', '2s')).stdout).toBe('a: cancelled\n')
  await holder.result
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
