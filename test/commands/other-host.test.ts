/** Two machines use one home: a program of the other machine is never killed, and no turn continues beside it. */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { SessionRecord } from '../../src/session/records.js'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { Host, hasHosts } from '../support/hosts.js'
import { isAlive, watchersOf } from '../support/processes.js'
import { Child, useChildren } from '../support/storage-process.js'
import { waitFor } from '../support/wait.js'

useChildren()

interface Left {
  house: House
  id: string
  gate: Gate
  /** The process group of the program. */
  group: number
}

/** substrat dies on that host during a turn. The program survives, because its leash is stopped. */
async function left(house: House, host: Host, ...flags: string[]): Promise<Left> {
  const gate = new Gate(house, 'g')
  const id = await house.spawn('bot', ...gate.flags)
  const sender = host.start('send', 'bot', 'one', ...flags)
  await gate.isReached()
  const group = started(house, id).process_group
  const watchers = watchersOf(group)
  for (const pid of watchers) process.kill(pid, 'SIGSTOP')
  onTestFinished(() => {
    for (const pid of watchers) process.kill(pid, 'SIGKILL')
    if (isAlive(group)) process.kill(-group, 'SIGKILL')
  })
  await sender.kill()
  return { house, id, gate, group }
}

function started(house: House, id: string): Extract<SessionRecord, { kind: 'provider.started' }> {
  return house.records(id).find(({ kind }) => kind === 'provider.started') as never
}

function interruptions(house: House, id: string): unknown[] {
  return house.records(id).flatMap((record) => (record.kind === 'run.interrupted' ? [record.reason] : []))
}

async function kill(group: number): Promise<void> {
  process.kill(-group, 'SIGKILL')
  await waitFor(() => !isAlive(group), 'its death')
}

describe.skipIf(!hasHosts)('with two hosts over one home (needs unshare -m)', () => {
  test('records name the host by a hash, not by its machine-id', async () => {
    const house = House.ofProcesses()
    const machineId = randomUUID().replaceAll('-', '')
    const a = new Host(house, 'web-1', machineId)
    const id = await house.spawn('bot')
    expect((await a.run('send', 'bot', 'hi')).exit).toBe(0)
    const run = house.records(id).find(({ kind }) => kind === 'run.started')
    expect(run).toMatchObject({ host_id: expect.stringMatching(/^[0-9a-f]{32}$/), host_name: 'web-1' })
    expect(house.log(id)).not.toContain(machineId)
    const { json } = await house.run(['show', 'bot', '--json'])
    expect(json.host).toEqual({ host_id: (run as { host_id: string }).host_id, host_name: 'web-1' })
    expect(json.last_boot_seen).toBe((run as { boot_id: string }).boot_id)
  })

  test('recovery leaves a turn with a living program on the other host to a person, and names that host', async () => {
    const house = House.ofProcesses()
    const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
    const { id, group } = await left(house, a)
    for (const all of [1, 2]) {
      const recovered = await b.run('recover', '--all', '--json')
      expect(recovered, String(all)).toMatchObject({
        exit: 6,
        json: { outcome: 'marked', run: { status: 'interrupted' } },
      })
      expect(recovered.json.error).toMatchObject({
        message: expect.stringContaining('another host (web-1)'),
        hint: expect.stringContaining('substrat recover --host-gone web-1'),
      })
    }
    expect(isAlive(group)).toBe(true)
    expect(interruptions(house, id)).toEqual(['other_host'])
    expect(house.count(id, 'run.started')).toBe(1)
    expect((await b.run('deliver', '--all')).exit).toBe(0)
    expect(house.count(id, 'run.started')).toBe(1)
  })

  test('a message is refused beside a program on the other host, or queued, and runs after the turn', async () => {
    const house = House.ofProcesses()
    const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
    const { id, gate, group } = await left(house, a)
    // The first command finds the program itself; the second reads what the first recorded.
    for (const round of [1, 2]) {
      const refused = await b.run('send', 'bot', 'two', '--json')
      expect(refused, `${round}: ${refused.stderr}`).toMatchObject({
        exit: 6,
        json: { error: { code: 'PROGRAM_ALIVE', reason: 'other_host' } },
      })
      const { message, hint } = refused.json.error
      expect(message).toMatch(/another host \(web-1\); the message was not stored/)
      expect(hint).toMatch(
        /substrat recover --all; or, if that host is down: substrat recover --host-gone web-1;/,
      )
    }
    expect((await b.run('show', 'bot', '--json')).json.next).toBe('substrat recover --host-gone web-1')
    const queued = await b.run('send', 'bot', 'three', '--if-busy', 'queue')
    expect(queued, queued.stderr).toMatchObject({
      exit: 0,
      stderr: expect.stringContaining('bot will run it after its interrupted turn'),
    })
    expect([isAlive(group), house.count(id, 'run.started')]).toEqual([true, 1])
    const undelivered = await b.run('deliver', 'bot', '--json')
    expect(undelivered, undelivered.stderr).toMatchObject({ exit: 6 })
    expect(undelivered.stderr).toMatch(/another host \(web-1\).*recover --host-gone web-1/)
    expect([isAlive(group), house.count(id, 'run.started')]).toEqual([true, 1])
    await kill(group)
    // One for the continued turn, and one for the queued message.
    gate.open()
    gate.open()
    const declared = await b.run('recover', '--host-gone', 'web-1')
    expect(declared.exit, declared.stderr).toBe(0)
    const prompts = house
      .records(id)
      .flatMap((record) => (record.kind === 'run.started' ? [record.origin] : []))
    expect(prompts).toEqual(['operator', 'continuation', 'mail'])
    expect(house.log(id)).not.toContain('"two"')
  })

  test('repeating a key does not continue its turn beside a program on the other host, not even with --retry', async () => {
    const house = House.ofProcesses()
    const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
    const { id, group } = await left(house, a, '--key', 'k')
    for (const flags of [[], ['--retry'], ['--if-busy', 'queue']]) {
      const again = await b.run('send', 'bot', 'one', '--key', 'k', ...flags, '--json')
      expect(again, again.stderr).toMatchObject({ exit: 6, json: { run: { status: 'interrupted' } } })
      expect(again.stderr).toContain('substrat recover --host-gone web-1')
    }
    expect([isAlive(group), house.count(id, 'run.started')]).toEqual([true, 1])
    expect(house.inbox(id)).toEqual([])
  })

  test.each([['resume'], ['retry'], ['resume', '--reseed']])(
    '%s continues no turn beside a program on the other host, however often it is repeated',
    async (...command) => {
      const house = House.ofProcesses()
      const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
      const { id, gate, group } = await left(house, a)
      for (const round of [1, 2, 3]) {
        const refused = await b.run(...(command as [string]), 'bot', '--json')
        expect(refused, `${round}: ${refused.stderr}`).toMatchObject({ exit: 6 })
        expect(refused.stderr + JSON.stringify(refused.json)).toContain('substrat recover --host-gone web-1')
        expect(refused.stderr + JSON.stringify(refused.json)).toContain('on another host (web-1)')
      }
      expect([isAlive(group), house.count(id, 'run.started')]).toEqual([true, 1])
      expect(interruptions(house, id)).toEqual(['other_host'])
      await kill(group)
      gate.open()
      const declared = await b.run('recover', '--host-gone', 'web-1')
      expect(declared, declared.stderr).toMatchObject({ exit: 0 })
      expect(house.count(id, 'run.started')).toBe(2)
    },
  )

  test('resume refused beside a program on the other host leaves the agent on hold', async () => {
    const house = House.ofProcesses()
    const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
    await left(house, a)
    expect((await b.run('suspend', 'bot', '--hold')).exit).toBe(0)
    expect((await b.run('resume', 'bot')).exit).toBe(6)
    expect((await b.run('show', 'bot', '--json')).json.hold).toBe(true)
  })

  test('a declaration also counts for an agent that another process holds at that moment', async () => {
    const house = House.ofProcesses()
    const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
    const { id, gate, group } = await left(house, a)
    expect((await b.run('recover', '--all')).exit).toBe(6)
    await kill(group)
    const holder = await Child.start()
    const system = {
      kind: JSON.parse(readFileSync(join(house.home, 'home.json'), 'utf8')).lock,
      isLocal: true,
    }
    expect(await holder.ask({ do: 'try', system, path: house.agentFile(id, 'lock') })).toBe(true)
    const declared = await b.run('recover', '--host-gone', 'web-1', '--json')
    expect(declared.json).toMatchObject({ outcome: 'held' })
    await holder.kill()
    expect(readdirSync(join(house.home, 'gone'))).toEqual([started(house, id).kernel_boot_id])
    gate.open()
    expect((await b.run('recover', '--all', '--json')).json).toMatchObject({ outcome: 'continued' })
  })

  test('declaring the host gone continues the turn, and is durable for later commands', async () => {
    const house = House.ofProcesses()
    const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
    const { id, gate, group } = await left(house, a)
    expect((await b.run('recover', '--all')).exit).toBe(6)
    await kill(group)
    const typo = await b.run('recover', '--host-gone', 'web-7')
    expect(typo).toMatchObject({ exit: 2, stderr: expect.stringContaining('name one of these hosts: web-1') })
    const own = await b.run('recover', '--host-gone', 'web-2')
    expect(own).toMatchObject({ exit: 2, stderr: expect.stringContaining('web-2 is this host') })
    expect(house.count(id, 'run.programs_gone')).toBe(0)
    gate.open()
    // `--continue none` only declares and repairs. The next command continues the turn.
    const declared = await b.run('recover', '--host-gone', 'web-1', '--continue', 'none', '--json')
    expect(declared.json).toMatchObject({ outcome: 'marked' })
    expect(house.records(id).filter(({ kind }) => kind === 'run.programs_gone')).toMatchObject([
      { by: 'person' },
    ])
    const next = await b.run('recover', '--all', '--json')
    expect(next, next.stderr).toMatchObject({
      exit: 0,
      json: { outcome: 'continued', run: { status: 'completed' } },
    })
    expect(interruptions(house, id)).toEqual(['other_host'])
    expect(house.findings(true)).toEqual([])
  })

  test('the first recovery after a declaration treats the open turn like that of a dead process', async () => {
    const house = House.ofProcesses()
    const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
    const { id, gate, group } = await left(house, a)
    await kill(group)
    gate.open()
    const { host_id = '' } = started(house, id)
    const declared = await b.run('recover', '--host-gone', host_id.slice(0, 8), '--json')
    expect(declared, declared.stderr).toMatchObject({ exit: 0, json: { row: 'J', outcome: 'continued' } })
    expect(interruptions(house, id)).toEqual(['process_exit'])
    // The log no longer names the host, but a person may repeat the command.
    const again = await b.run('recover', '--host-gone', 'web-1')
    expect(again.exit, again.stderr).toBe(0)
  })

  test('a host that was declared gone but runs a turn withdraws the declaration', async () => {
    const house = House.ofProcesses()
    const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
    const { id, gate, group } = await left(house, a)
    await kill(group)
    gate.open()
    expect((await b.run('recover', '--host-gone', 'web-1')).exit).toBe(0)
    const { kernel_boot_id } = started(house, id)
    expect(readdirSync(join(house.home, 'gone'))).toEqual([kernel_boot_id])
    gate.open()
    expect((await a.run('send', 'bot', 'two')).exit).toBe(0)
    expect(readdirSync(join(house.home, 'gone'))).toEqual([])
  })

  test('the host of the program checks it itself: it kills the program, and the turn continues', async () => {
    const house = House.ofProcesses()
    const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
    const { id, gate, group } = await left(house, a)
    expect((await b.run('recover', '--all')).exit).toBe(6)
    const recovering = a.start('recover', '--all', '--json')
    await waitFor(() => !isAlive(group), 'the death of the program')
    await house.waitForRecord(id, 'provider.started', 2)
    gate.open()
    expect((await recovering.result).json).toMatchObject({
      outcome: 'continued',
      run: { status: 'completed' },
    })
    expect(house.records(id).filter(({ kind }) => kind === 'run.programs_gone')).toMatchObject([
      { by: 'host' },
    ])
  })

  test('after its restart, the host of the program continues the turn without a person', async () => {
    const house = House.ofProcesses()
    const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
    const { gate, group } = await left(house, a)
    expect((await b.run('recover', '--all')).exit).toBe(6)
    await kill(group)
    a.boot(1)
    gate.open()
    expect((await a.run('recover', '--all', '--json')).json).toMatchObject({ outcome: 'continued' })
  })

  test('a restarted host continues its own turns', async () => {
    const house = House.ofProcesses()
    const a = new Host(house, 'web-1')
    const { id, gate, group } = await left(house, a)
    await kill(group)
    a.boot(0)
    gate.open()
    expect((await a.run('recover', '--all', '--json')).json).toMatchObject({ row: 'J', outcome: 'continued' })
    expect(interruptions(house, id)).toEqual(['process_restart'])
  })

  test('a clone with the same machine-id does not touch a program that started after its own boot', async () => {
    const house = House.ofProcesses()
    const machineId = randomUUID().replaceAll('-', '')
    const [a, clone] = [new Host(house, 'web-1', machineId), new Host(house, 'web-2', machineId)]
    const { id, gate, group } = await left(house, a)
    expect((await clone.run('recover', '--all')).exit).toBe(6)
    // Also after its own restart: only the other clone or a person can know.
    clone.boot(1)
    expect((await clone.run('recover', '--all')).exit).toBe(6)
    expect(isAlive(group)).toBe(true)
    expect(interruptions(house, id)).toEqual(['other_host'])
    await kill(group)
    gate.open()
    expect((await clone.run('recover', '--host-gone', 'web-1', '--json')).json).toMatchObject({
      outcome: 'continued',
    })
  })

  test.each([
    ['this host', 'web-1', ''],
    ['the other host', 'web-2', ''],
  ])('without a machine-id on %s, another boot id means a restart', async (_, name) => {
    const house = House.ofProcesses()
    const of = (each: string): Host => new Host(house, each, each === name ? 'uninitialized' : undefined)
    const [a, b] = [of('web-1'), of('web-2')]
    const { gate, group } = await left(house, a)
    await kill(group)
    gate.open()
    expect((await b.run('recover', '--all', '--json')).json).toMatchObject({ row: 'J', outcome: 'continued' })
  })

  test('each host keeps its own boot file, and after a restart replaces only that', async () => {
    const house = House.ofProcesses()
    const [a, b] = [new Host(house, 'web-1'), new Host(house, 'web-2')]
    await house.spawn('bot')
    const boots = (): string[] => readdirSync(join(house.home, 'boots'))
    expect((await a.run('recover', '--all', '--json')).stdout).not.toBe('')
    const [first] = boots()
    expect((await b.run('recover', '--all', '--json')).stdout).not.toBe('')
    expect(boots()).toHaveLength(2)
    expect((await a.run('recover', '--all', '--json')).stdout).toBe('')
    a.boot(1)
    expect((await a.run('recover', '--all', '--json')).stdout).not.toBe('')
    expect(boots()).toHaveLength(2)
    expect(boots()).not.toContain(first)
    expect((await b.run('recover', '--all', '--json')).stdout).toBe('')
  })
})
