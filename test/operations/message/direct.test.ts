/** The guarantees of `send` after a SIGKILL at a known point. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { deliverMessage } from '../../../src/operations/message/deliver-message.js'
import { House } from '../../support/cli.js'
import { contextAt } from '../../support/contexts.js'
import { withFaults } from '../../support/faults.js'
import { Gate } from '../../support/gate.js'
import { isAlive, watchersOf } from '../../support/processes.js'
import { sendRequest } from '../../support/send-request.js'
import { newSession } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'
import { waitFor } from '../../support/wait.js'

/** An agent whose next turn stands still until it is killed; afterwards `quicken` lets turns through. */
async function standingModel(house: House): Promise<{ id: string; quicken(...responses: object[]): void }> {
  const id = await house.spawn('a', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
  return { id, quicken: (...responses) => void house.scenario('s.json', ...responses) }
}

const contents = (house: House, id: string, kind: string): unknown[] =>
  house.records(id).flatMap((record) => (record.kind === kind && 'content' in record ? [record.content] : []))

describe.concurrent('a send --key whose process is killed', () => {
  test('before the intent: nothing is stored, and the second call is the first', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1' })
    const gate = new Gate(house, 'g')
    await house.spawn('busy', ...gate.flags)
    const id = await house.spawn('a')
    const log = house.log(id)
    const busy = house.start(['send', 'busy', 'one'])
    await gate.isReached()
    const first = house.start(['send', 'a', 'hello', '--key', 'k'])
    // It has the agent's lock now, and the next thing it does is to record its intent.
    await first.says('waiting for one of 1 slots')
    expect((await first.kill()).exit).toBe(137)
    expect(house.log(id)).toBe(log)
    gate.open()
    await busy.result
    expect((await house.run(['send', 'a', 'hello', '--key', 'k'])).stdout).toBe('echo: hello\n')
    expect(house.count(id, 'run.started')).toBe(1)
    expect(house.findings(true)).toEqual([])
  })

  test('in mid-turn: the second call continues that turn and prints its reply', async () => {
    const house = new House()
    const { id, quicken } = await standingModel(house)
    const first = house.start(['send', 'a', 'hello', '--key', 'k'])
    await house.waitForRecord(id, 'model.requested')
    await first.kill()
    quicken({ say: 'one' }, { say: 'two' })
    const again = await house.run(['send', 'a', 'hello', '--key', 'k'])
    expect(again).toMatchObject({ exit: 0, stdout: 'one\n' })
    expect(again.stderr).toMatch(/continuing the interrupted turn \(started [-\d]+ [\d:]+Z\)/)
    expect(contents(house, id, 'message.user')).toEqual(['hello'])
    expect(house.kinds(id)).toContain('run.resumed')
    expect(house.count(id, 'run.completed')).toBe(1)
    expect(house.count(id, 'run.interrupted')).toBe(0)
    expect((await house.run(['send', 'a', 'hello', '--key', 'k'])).stdout).toBe('one\n')
    expect(house.findings(true)).toEqual([])
  })

  test('after the outcome and before its exit: the second call prints the stored reply', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const message = 'x'.repeat(200_000)
    // Its stdout has no reader, so it cannot end.
    const first = house.start(['send', 'a', '-', '--key', 'k'], { stdin: message, stdout: 'unread' })
    await house.waitForRecord(id, 'session.suspended')
    await first.kill()
    const log = house.log(id)
    const again = await house.run(['send', 'a', '-', '--key', 'k'], { stdin: message })
    expect(again).toMatchObject({ exit: 0, stdout: `echo: ${message}\n` })
    expect(house.log(id)).toBe(log)
    expect((await house.run(['recover', '--all'])).exit).toBe(0)
    expect(house.log(id)).toBe(log)
    expect(house.findings(true)).toEqual([])
  })

  const hasStrace = spawnSync('strace', ['-V']).status === 0
  test.skipIf(!hasStrace)('after the outcome and before the snapshot (needs strace): the same', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const rename = process.arch === 'x64' ? 'rename' : 'renameat'
    const inject = ['-e', `trace=${rename}`, '-e', `inject=${rename}:signal=KILL:when=1`]
    const command = house.command('send', 'a', 'hello', '--key', 'k')
    const first = house.launch(['strace', '-f', '-qq', '-o', '/dev/null', ...inject, ...command])
    expect((await first.result).exit).toBe(137)
    const log = house.log(id)
    expect(house.kinds(id).slice(-2)).toEqual(['session.suspended', 'status.derived'])
    expect((await house.run(['send', 'a', 'hello', '--key', 'k'])).stdout).toBe('echo: hello\n')
    expect(house.log(id)).toBe(log)
    expect((await house.run(['recover', '--all'])).exit).toBe(0)
    expect(house.findings(true)).toEqual([])
  })

  test('in mid-turn: another body under that key is refused, and the turn is still finished', async () => {
    const house = new House()
    const { id, quicken } = await standingModel(house)
    const first = house.start(['send', 'a', 'hello', '--key', 'k'])
    await house.waitForRecord(id, 'model.requested')
    await first.kill()
    quicken({ say: 'one' })
    expect((await house.run(['send', 'a', 'other', '--key', 'k'])).exit).toBe(13)
    expect((await house.run(['send', 'a', 'hello', '--key', 'k'])).stdout).toBe('one\n')
    expect(contents(house, id, 'message.user')).toEqual(['hello'])
  })
})

describe.concurrent('a send after a killed turn', () => {
  test('finishes that turn first, and prints the reply to its own message', async () => {
    const house = new House()
    const { id, quicken } = await standingModel(house)
    const first = house.start(['send', 'a', 'one'])
    await house.waitForRecord(id, 'model.requested')
    await first.kill()
    quicken({ say: 'to one' }, { say: 'to two' })
    expect(await house.run(['send', 'a', 'two'])).toMatchObject({ exit: 0, stdout: 'to two\n' })
    expect(contents(house, id, 'message.user')).toEqual(['one', 'two'])
    expect(contents(house, id, 'message.agent')).toEqual(['to one', 'to two'])
    expect(house.findings(true)).toEqual([])
  })

  test('kills the program that the turn has left, and only that, and asks it anew with what it was asked', async ({
    onTestFinished,
  }) => {
    const house = new House()
    const bystander = house.launch(['sleep', '3600'])
    const id = await house.spawn(
      'a',
      ...['--provider', 'exec', '--option', 'command=echo $$ > pid; sleep 3600 & echo $! > child; wait'],
    )
    const first = house.start(['send', 'a', 'one'])
    const pids = (): number[] => ['pid', 'child'].map((name) => pidIn(house, name))
    await waitFor(() => pids().every((pid) => pid > 0), 'the program')
    // A leash that fails must not let a turn start beside the program.
    const watchers = watchersOf(pidIn(house, 'pid'))
    onTestFinished(() => void watchers.map((pid) => process.kill(pid, 'SIGKILL')))
    for (const pid of watchers) process.kill(pid, 'SIGSTOP')
    await first.kill()
    expect(pids().map(isAlive)).toEqual([true, true])
    const set = await house.ok('set', 'a', '--option', 'command=cat')
    expect(set.stderr).toMatch(/process group \d+ of the interrupted turn was still running: killed it/)
    expect(pids().map(isAlive)).toEqual([false, false])
    expect(isAlive(bystander.pid)).toBe(true)
    expect(house.kinds(id)).toContain('run.interrupted')
    const sent = await house.run(['send', 'a', 'two'])
    expect(sent).toMatchObject({ exit: 0, stdout: 'two\n' })
    const [, recovery] = contents(house, id, 'message.user')
    expect(recovery).toMatch(/^Your previous turn was interrupted[\s\S]*\n\none$/)
    expect(contents(house, id, 'message.agent')).toEqual([recovery, 'two'])
    expect(house.count(id, 'run.interrupted')).toBe(1)
    expect(house.findings(true)).toEqual([])
    await bystander.kill()
  })
})

describe.concurrent('a message with a key that meets another call with that key', () => {
  test('before that one has recorded anything: it is queued, and dropped when it is answered', async () => {
    const house = new House({ SUBSTRAT_SLOTS_MAX: '1' })
    const gate = new Gate(house, 'g')
    await house.spawn('busy', ...gate.flags)
    const id = await house.spawn('a')
    const busy = house.start(['send', 'busy', 'one'])
    await gate.isReached()
    const first = house.start(['send', 'a', 'hello', '--key', 'k'])
    await first.says('waiting for one of 1 slots')
    await house.ok('send', 'a', 'hello', '--key', 'k', '--if-busy', 'queue')
    expect(house.inbox(id)).toHaveLength(1)
    gate.open()
    await busy.result
    expect((await first.result).stdout).toBe('echo: hello\n')
    expect(house.inbox(id)).toEqual([])
    expect(house.count(id, 'run.started')).toBe(1)
  })
})

describe.concurrent('a turn that kills its own process', () => {
  test('is not continued for ever; resume tries again, and a new message replaces it', async () => {
    const house = House.ofProcesses()
    const id = await house.spawn('a', '--provider', 'exec', '--option', 'command=kill -9 $PPID; sleep 3600')
    const sent = await house.run(['send', 'a', 'one', '--key', 'k'])
    expect(sent.exit).toBe(137)
    for (const attempt of [1, 2]) {
      expect((await house.run(['recover', '--all'])).exit).toBe(137)
      expect(house.count(id, 'run.started')).toBe(1 + attempt)
    }
    for (const command of [
      ['recover', '--all'],
      ['recover', 'a'],
      ['send', 'a', 'one', '--key', 'k'],
    ]) {
      const result = await house.run(command)
      expect(result.exit, command.join(' ')).toBe(6)
      expect(result.stderr).toContain('substrat resume a')
      expect(house.count(id, 'run.started')).toBe(3)
    }
    expect((await house.run(['resume', 'a'])).exit).toBe(137)
    expect(house.count(id, 'run.started')).toBe(4)
    expect((await house.run(['recover', '--all'])).exit).toBe(137)
    await house.ok('set', 'a', '--option', 'command=cat')
    expect(await house.run(['send', 'a', 'two'])).toMatchObject({ exit: 0 })
    expect((await house.run(['show', 'a', '--reply'])).stdout).toBe('two\n')
    expect(house.findings(true)).toEqual([])
  })

  test('does not block a new message once it is given up', async () => {
    const house = House.ofProcesses()
    house.write('turn.sh', 'kill -9 $PPID; sleep 3600')
    const id = await house.spawn('a', '--provider', 'exec', '--option', 'command=sh turn.sh')
    // The shell between it and substrat: its parent's parent.
    writeFileSync(
      `${house.workspace}/turn.sh`,
      'read p < /proc/$PPID/stat; set -- $p; kill -9 $4; sleep 3600',
    )
    for (const command of [
      ['send', 'a', 'one'],
      ['recover', 'a'],
      ['recover', 'a'],
    ]) {
      expect((await house.run(command)).exit, command.join(' ')).toBe(137)
    }
    house.write('turn.sh', 'cat')
    const sent = await house.run(['send', 'a', 'two'])
    expect(sent).toMatchObject({ exit: 0, stdout: 'two\n' })
    expect(sent.stderr).toContain('continued too often without progress')
    expect(contents(house, id, 'message.agent')).toEqual(['two'])
    expect(house.count(id, 'run.interrupted')).toBe(3)
  })
})

test('a message that is queued while its recipient is terminated is not acknowledged', async () => {
  const store = tempStore()
  const session = await newSession(store, { name: 'a' })
  withFaults(({ point }) => {
    if (point === 'mail.put.link') session.append([{ kind: 'session.terminated' }])
    return undefined
  })
  const { ctx } = contextAt(store)
  const request = sendRequest(session.id, { ifBusy: 'queue' })
  await expect(deliverMessage(ctx, request, () => undefined)).rejects.toMatchObject({
    code: 'UNDELIVERABLE',
    message: 'a is terminated and takes no messages or commands',
  })
  expect(store.mail.ids(session.id)).toEqual([])
})

function pidIn(house: House, name: string): number {
  return Number(house.read(name) ?? 0)
}
