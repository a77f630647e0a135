import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Session } from '../../src/session/session.js'
import { UncaughtErrors } from '../../src/turn/ask/uncaught-errors.js'
import { Shutdown, type StopSignal, type TurnStop, watchForStop } from '../../src/turn/stop.js'
import { failing, withFaults } from '../support/faults.js'
import { beginning, newSession } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

const SIGNALS: StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
let session: Session
let runId: string
let shutdown: Shutdown
let notes: string[]
const watches: TurnStop[] = []

beforeEach(async () => {
  session = await newSession(tempStore())
  runId = randomUUID()
  session.append(beginning(session, runId, 'hi'))
  notes = []
  shutdown = new Shutdown(30_000, (text) => void notes.push(text))
})

afterEach(() => {
  for (const watch of watches.splice(0)) watch.close()
  shutdown.close()
  vi.useRealTimers()
})

function watch(turnTimeoutMs: number | null = null): TurnStop {
  const stop = watchForStop(session.store, { agentId: session.id, runId, turnTimeoutMs }, shutdown)
  watches.push(stop)
  return stop
}

/** Delivers a signal to the listeners of this process, as the kernel would. */
function signal(name: StopSignal): void {
  process.emit(name, name)
}

describe('a request file', () => {
  test.each([
    ['suspend', 'suspended'],
    ['terminate', 'terminated'],
  ] as const)('to %s stops the turn', async (verb, reason) => {
    const stop = watch()
    expect(stop.signal.aborted).toBe(false)
    session.store.requests.put(session.id, runId, verb)
    await waitFor(() => stop.signal.aborted, 'the turn to be stopped')
    expect(stop.reason()).toBe(reason)
  })

  test('that exists before the turn begins stops it at once', () => {
    session.store.requests.put(session.id, runId, 'suspend')
    expect(watch().signal.aborted).toBe(true)
  })

  test('is found even if no file watch reports it', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    // A directory that is made during the turn is not watched.
    rmSync(join(session.store.label({ kind: 'agent', agentId: session.id }), 'requests'), { recursive: true })
    const stop = watch()
    session.store.requests.put(session.id, runId, 'suspend')
    await vi.advanceTimersByTimeAsync(500)
    expect(stop.signal.aborted).toBe(true)
  })

  test('to another run stops nothing', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    session.store.requests.put(session.id, randomUUID(), 'terminate')
    const stop = watch()
    vi.advanceTimersByTime(5000)
    expect(stop.signal.aborted).toBe(false)
  })

  test('that cannot be read now is found later, and does not fail the turn', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    withFaults(failing('EMFILE', ({ point }) => point === 'request.list'))
    const stop = watch()
    vi.advanceTimersByTime(1000)
    withFaults(() => undefined)
    session.store.requests.put(session.id, runId, 'suspend')
    vi.advanceTimersByTime(500)
    expect(stop.signal.aborted).toBe(true)
  })
})

test('the timeout of a turn stops it, and the first reason for a stop counts', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const stop = watch(60_000)
  vi.advanceTimersByTime(59_999)
  expect(stop.signal.aborted).toBe(false)
  vi.advanceTimersByTime(1)
  expect(stop.signal.aborted).toBe(true)
  signal('SIGINT')
  signal('SIGINT')
  expect(stop.reason()).toBe('turn_timeout')
})

describe('a signal', () => {
  test.each(SIGNALS)('%s lets the turn finish; a second one stops it', (name) => {
    const stop = watch()
    signal(name)
    expect(shutdown.requested).toBe(name)
    expect(stop.signal.aborted).toBe(false)
    expect(notes).toEqual([
      expect.stringMatching(new RegExp(`^${name}: .*up to 30 s; send it again to stop now$`)),
    ])
    signal(name)
    expect(stop.signal.aborted).toBe(true)
    expect(stop.reason()).toBe('shutdown')
  })

  test('stops the turn at the end of the grace period', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const stop = watch()
    signal('SIGTERM')
    vi.advanceTimersByTime(29_999)
    expect(stop.signal.aborted).toBe(false)
    vi.advanceTimersByTime(1)
    expect(stop.signal.aborted).toBe(true)
  })

  test('that came before the turn lets it run; after the grace period the turn stops at once', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    shutdown.listen()
    signal('SIGTERM')
    expect(watch().signal.aborted).toBe(false)
    vi.advanceTimersByTime(30_000)
    expect(watch().signal.aborted).toBe(true)
  })

  test('has one listener for any number of turns, and none after the command', () => {
    const before = SIGNALS.map((name) => process.listenerCount(name))
    watch()
    watch()
    expect(SIGNALS.map((name) => process.listenerCount(name))).toEqual(before.map((count) => count + 1))
    shutdown.close()
    expect(SIGNALS.map((name) => process.listenerCount(name))).toEqual(before)
  })
})

test('many turns in one process cause no leak warning from Node', async () => {
  const warnings: string[] = []
  const onWarning = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', onWarning)
  const strays = Array.from({ length: 12 }, () => {
    watch()
    return new UncaughtErrors()
  })
  await new Promise(setImmediate)
  for (const stray of strays) stray.close()
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
})

test('a turn that is over cannot be stopped', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  const stop = watch(1000)
  stop.close()
  session.store.requests.put(session.id, runId, 'suspend')
  signal('SIGINT')
  signal('SIGINT')
  vi.advanceTimersByTime(60_000)
  expect(stop.signal.aborted).toBe(false)
})

test('a turn whose reply can no longer come ends before the grace period does, but only after a signal', () => {
  const stop = watch()
  stop.endIfShuttingDown()
  expect(stop.signal.aborted).toBe(false)
  signal('SIGTERM')
  expect(stop.signal.aborted).toBe(false)
  stop.endIfShuttingDown()
  expect([stop.signal.aborted, stop.reason()]).toEqual([true, 'shutdown'])
})

describe('whether substrat is being stopped', () => {
  test('is known at once after a signal', async () => {
    const stop = watch()
    signal('SIGTERM')
    expect(await stop.isShuttingDown(false)).toBe(true)
    expect(await stop.isShuttingDown(true)).toBe(true)
  })

  test('is known as soon as the awaited signal arrives', async () => {
    vi.useFakeTimers()
    const stop = watch()
    const waiting = stop.isShuttingDown(true)
    signal('SIGHUP')
    expect(await waiting).toBe(true)
  })

  test('is false after a moment without a signal, and at once without waiting', async () => {
    vi.useFakeTimers()
    const stop = watch()
    expect(await stop.isShuttingDown(false)).toBe(false)
    const waiting = stop.isShuttingDown(true)
    await vi.advanceTimersByTimeAsync(500)
    expect(await waiting).toBe(false)
  })
})
