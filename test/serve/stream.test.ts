/** The stream of one client: its memory, and its end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { eventOf, eventResponse, type Source } from '../../plugins/serve/src/events/stream.js'
import { waitFor } from '../support/wait.js'

const NEVER = 2 ** 31 - 1

/** A source that always has an event. */
class Endless implements Source {
  given = 0
  isStopped = false
  isWithinEvent = false
  next(): Buffer {
    this.given += 1
    return eventOf('record', '{}', this.given)
  }
  cursor(): object {
    return { after: this.given }
  }
  start(): void {}
  stop(): void {
    this.isStopped = true
  }
}

function connect(source: Source, times: { heartbeatMs?: number; stallMs?: number; lingerMs?: number }) {
  const [gone, stopping, revoking] = [new AbortController(), new AbortController(), new AbortController()]
  const state = { isCut: false }
  const cut = (): void => {
    state.isCut = true
  }
  const connection = { signal: gone.signal, stopping: stopping.signal, revoked: revoking.signal, cut }
  const all = { heartbeatMs: NEVER, stallMs: NEVER, lingerMs: NEVER, ...times }
  const { body } = eventResponse(source, connection, all)
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  const read = async () => Buffer.from((await reader.read()).value ?? []).toString()
  return { read, reader, gone, stopping, revoking, state }
}

test('a client that does not read has one chunk, and is closed with its cursor', async () => {
  const source = new Endless()
  const { read, reader, state } = connect(source, { stallMs: 20, lingerMs: 20 })
  expect(await read()).toBe('retry: 1000\n\n')
  expect(await read()).toBe('id: 1\nevent: record\ndata: {}\n\n')
  await waitFor(() => source.isStopped, 'the end')
  expect(source.given).toBe(1)
  expect(await read()).toBe('event: closed\ndata: {"reason":"slow","after":1,"problem":null}\n\n')
  expect((await reader.read()).done).toBe(true)
  await waitFor(() => state.isCut, 'the connection to be cut')
})

test('a client that stops reading within an event gets no other', async () => {
  const source = new Endless()
  source.isWithinEvent = true
  const { read, reader } = connect(source, { stallMs: 20 })
  await read()
  await read()
  await waitFor(() => source.isStopped, 'the end')
  expect((await reader.read()).done).toBe(true)
})

test('a client that waits for events gets comments', async () => {
  let wake = (): void => undefined
  let event: Buffer | undefined
  const source: Source = {
    next: () => event,
    cursor: () => ({}),
    start: (given) => {
      wake = given
    },
    stop: () => undefined,
  }
  const { read } = connect(source, { heartbeatMs: 5 })
  await read()
  expect([await read(), await read()]).toEqual([':\n\n', ':\n\n'])
  event = eventOf('agent', '{}')
  wake()
  // A comment may have been on its way.
  for (let text = await read(); text !== 'event: agent\ndata: {}\n\n'; text = await read())
    expect(text).toBe(':\n\n')
})

test('a client that is gone leaves nothing behind, whether its request was aborted or its stream cancelled', async () => {
  const aborted = new Endless()
  const { gone } = connect(aborted, {})
  gone.abort()
  expect(aborted.isStopped).toBe(true)
  const cancelled = new Endless()
  const { reader } = connect(cancelled, {})
  await reader.cancel()
  expect(cancelled.isStopped).toBe(true)
  await sleep(0)
  expect([aborted.given, cancelled.given]).toEqual([0, 0])
})
