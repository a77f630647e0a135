import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House, type Running } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { waitFor } from '../support/wait.js'
import { atWork, waiting } from '../support/waiting.js'

/** SIGHUP is the last signal for which a command sets a handler, and nothing else of the process does. */
async function handlesSignals({ child }: Running): Promise<void> {
  const caught = (): bigint =>
    BigInt(`0x${/^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]}`)
  await waitFor(() => (caught() & 1n) === 1n, 'its handlers')
}

const RUN_JS = path.join(import.meta.dirname, '..', '..', 'bin', 'run.js')

const EXITS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

describe.concurrent.each(Object.entries(EXITS))('%s before the turn of a command', (name, status) => {
  const signal = name as NodeJS.Signals

  test('says that the message of a waiting send was not delivered, and nothing of it is stored', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const first = house.start(['send', 'a', 'hi'])
    await gate.isReached()
    for (const [flags, again] of [
      [[], "substrat send a '…'"],
      [['--key', 'k'], "substrat send a --key k '…'"],
    ] as const) {
      const second = await waiting(house, id, 'lost', ...flags)
      second.child.kill(signal)
      const { exit, stdout, stderr } = await second.result
      expect([exit, stdout]).toEqual([status, ''])
      expect(stderr.trimEnd().split('\n').at(-1)).toBe(
        `substrat: stopped by ${signal} before the message was delivered; the message was not stored (send it again: ${again})`,
      )
    }
    gate.open()
    expect((await first.result).exit).toBe(0)
    await house.ok('deliver', '--all')
    expect(house.count(id, 'run.started')).toBe(1)
  })

  test('says in JSON what became of a message that an earlier command has queued', async () => {
    const { house, id, first } = await atWork()
    await house.ok('send', 'a', 'kept', '--key', 'k', '--queue')
    const second = await waiting(house, id, 'kept', '--key', 'k', '--json')
    second.child.kill(signal)
    const { exit, stdout } = await second.result
    expect(exit).toBe(status)
    expect(JSON.parse(stdout).error).toMatchObject({
      code: `STOPPED_${signal}`,
      message: `stopped by ${signal} before the message was delivered; the message is still queued`,
      hint: 'deliver it: substrat deliver a',
    })
    writeFileSync(`${house.workspace}/go`, '')
    await first.result
    expect(house.count(id, 'run.completed')).toBe(2)
  })

  test('says that a command that still read its message has changed nothing', async () => {
    const house = new House()
    await house.spawn('a')
    const sending = house.start(['send', 'a'], { stdin: 'open' })
    await handlesSignals(sending)
    sending.child.kill(signal)
    const { exit, stderr } = await sending.result
    expect(exit).toBe(status)
    expect(stderr).toContain(`substrat: stopped by ${signal} before it had changed anything\n`)
  })

  test('ends a command that waits for an agent with a line', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    await house.spawn('a', ...gate.flags)
    const first = house.start(['send', 'a', 'hi'])
    await gate.isReached()
    const resuming = house.start(['resume', 'a'])
    await handlesSignals(resuming)
    resuming.child.kill(signal)
    expect(await resuming.result).toMatchObject({
      exit: status,
      stderr: expect.stringMatching(`stopped by ${signal}( before it had changed anything)?\\n$`),
    })
    gate.open()
    await first.result
  })
})

test('a signal ends a command while its line cannot be written, and its message is not delivered', async () => {
  const { house, id, first } = await atWork()
  const fifo = path.join(house.workspace, 'full')
  execFileSync('mkfifo', [fifo])
  const full = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
  expect(() => {
    for (;;) writeSync(full, Buffer.alloc(4096))
  }).toThrow('EAGAIN')
  const stderr = openSync(fifo, 'r+')
  const send = [process.execPath, RUN_JS, 'send', 'a', 'lost']
  const second = house.launch(['sh', '-c', 'exec "$@" 2>&3', 'sh', ...send], { inherits: stderr })
  const waits = house.agentFile(id, 'waits')
  await waitFor(() => existsSync(waits) && readdirSync(waits).length > 0, 'the arrival')
  second.child.kill('SIGTERM')
  writeFileSync(`${house.workspace}/go`, '')
  await first.result
  expect((await second.result).exit).toBe(143)
  for (const descriptor of [full, stderr]) closeSync(descriptor)
  await house.ok('deliver', '--all')
  expect(house.count(id, 'run.started')).toBe(1)
})
