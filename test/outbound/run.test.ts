/** The programs and the secrets of targets. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { runOnce } from '../../src/outbound/run.js'
import { House } from '../support/cli.js'
import { contextAt } from '../support/contexts.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent } from '../support/sessions.js'
import { outboundTo, type Received, target, targetServer } from '../support/targets.js'
import { tempDirectory, tempStore } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

const NEVER_MS = 3_600_000
/** Starts a child in its group, and prints the ids of both into the file `$0`. */
const TWO_PROCESSES = 'sleep 100000 & echo "$$ $!" > "$0.new"; mv "$0.new" "$0"; wait'

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

const pidsIn = (file: string): number[] => (read(file) ?? '').trim().split(' ').map(Number)

/** A killed process may still be a zombie, which runs nothing. */
function isRunning(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`)
  return stat !== undefined && !/\) [ZX] /.test(stat)
}

async function untilDead(file: string): Promise<void> {
  const pids = pidsIn(file)
  expect(pids).toHaveLength(2)
  await waitFor(() => !pids.some(isRunning), `the end of ${pids.join(' and ')}`)
}

describe('the program of a target', () => {
  const options = { timeoutMs: NEVER_MS, signal: new AbortController().signal, stderr: 'ignore' as const }

  test('gets the text on stdin, and its exit status decides', async () => {
    const file = path.join(tempDirectory(), 'taken')
    const taken = await runOnce(['sh', '-c', 'cat > "$0"', file], '{"id":"é"}', options)
    expect([taken, read(file)]).toEqual([{ outcome: 'accepted' }, '{"id":"é"}\n'])
    expect(await runOnce(['sh', '-c', 'exit 3'], '', options)).toEqual({
      outcome: 'failed',
      why: 'its exit status is 3',
    })
    expect(await runOnce(['sh', '-c', 'kill -9 $$'], '', options)).toEqual({
      outcome: 'failed',
      why: 'it was killed by SIGKILL',
    })
    expect(await runOnce([path.join(tempDirectory(), 'none')], '', options)).toEqual({
      outcome: 'failed',
      why: 'it cannot be started: exit status 127',
    })
  })

  test('that exits without reading a long event has taken it', async () => {
    expect(await runOnce(['true'], 'x'.repeat(1_000_000), options)).toEqual({ outcome: 'accepted' })
  })

  test('is killed with its children at the timeout, and the attempt has failed', async () => {
    const file = path.join(tempDirectory(), 'pids')
    // Long enough on any machine, found by trying.
    for (let timeoutMs = 200; read(file) === undefined; timeoutMs *= 2)
      expect(await runOnce(['sh', '-c', TWO_PROCESSES, file], '', { ...options, timeoutMs })).toEqual({
        outcome: 'failed',
        why: `it did not exit within ${timeoutMs / 1000} s`,
      })
    await untilDead(file)
  })

  test('is killed with its children when the command ends, and the attempt does not count', async () => {
    const file = path.join(tempDirectory(), 'pids')
    const end = new AbortController()
    const attempt = runOnce(['sh', '-c', TWO_PROCESSES, file], '', { ...options, signal: end.signal })
    await waitFor(() => read(file) !== undefined, 'the program')
    end.abort()
    expect(await attempt).toEqual({ outcome: 'unknown' })
    await untilDead(file)
  })

  test('leaves no children behind if it fails', async () => {
    const file = path.join(tempDirectory(), 'pids')
    const script = `${TWO_PROCESSES.replace('; wait', '')}; exit 1`
    expect(await runOnce(['sh', '-c', script, file], '', options)).toMatchObject({ outcome: 'failed' })
    await untilDead(file)
  })

  test('dies with a command that is killed, and the message stays pending', async () => {
    const house = House.ofProcesses()
    const file = path.join(house.workspace, 'pids')
    const run = ['sh', '-c', TWO_PROCESSES, file]
    await house.ok('config', 'set', 'notify', JSON.stringify([{ name: 'ops', on: ['completed'], run }]))
    await house.spawn('a')
    const command = house.start(['send', 'a', 'hello'])
    await waitFor(() => read(file) !== undefined, 'the program')
    await command.kill()
    await untilDead(file)
    const { messages } = (await house.ok('outbox', '--json')).json
    expect(messages).toMatchObject([{ target: 'ops', state: 'pending', attempts: 0 }])
  })
})

describe('a secret of a target', () => {
  test('in a variable is in the environment of no program of a turn and of no other target', async () => {
    const house = House.ofProcesses({ OPS_TOKEN: 't0p-secret', OTHER: 'visible' })
    const server = await targetServer()
    const on = ['completed']
    const notify = [
      { name: 'ops', on, url: server.url, token: { env: 'OPS_TOKEN' } },
      { name: 'program', on, run: ['sh', '-c', 'env > "$0"', path.join(house.workspace, 'target-env')] },
    ]
    await house.ok('config', 'set', 'notify', JSON.stringify(notify))
    await house.spawn('a', '--provider', 'exec', '--option', 'command=env > turn-env')
    await house.ok('send', 'a', 'hello')
    await house.ok('deliver', '--all')
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer t0p-secret'])
    for (const name of ['turn-env', 'target-env']) {
      expect(house.read(name), name).toContain('OTHER=visible')
      expect(house.read(name), name).not.toContain('OPS_TOKEN')
    }
  })

  test('in a file signs the body, as openssl confirms', async () => {
    const store = tempStore()
    const server = await targetServer()
    const file = path.join(tempDirectory(), 'key')
    writeFileSync(file, 'k3y\n')
    const id = await newAgent(store)
    const outbound = outboundTo(store, [target('ops', server.url, { secret: { file } })])
    await deliverMessage(contextAt(store, { outbound }).ctx, sendRequest(id), () => undefined)
    await outbound.untilSent()
    const [{ headers, body }] = server.received as [Received]
    const [, seconds, hex] = /^t=(\d+),v1=(.*)$/.exec(String(headers['substrat-signature'])) ?? []
    const input = `${seconds}.${body}`
    const { stdout } = spawnSync('openssl', ['dgst', '-sha256', '-hmac', 'k3y'], { input, encoding: 'utf8' })
    expect(stdout.trim().split(' ').at(-1)).toBe(hex)
  })
})
