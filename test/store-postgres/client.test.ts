import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { Client } from '../../plugins/store-postgres/src/client.js'

/** Wakes the caller before it answers, as a thread does that the system stops between its count of an answer and its call. */
const LATE = `
  require('node:worker_threads').parentPort.once('message', ({ port, answered }) => {
    let statements = 0
    port.on('message', ({ kind }) => {
      if (kind !== 'statement') return
      while (Atomics.notify(answered, 0) === 0);
      port.postMessage({ answer: { rows: [{ number: ++statements }] } })
      Atomics.add(answered, 0, 1)
      Atomics.notify(answered, 0)
    })
  })`

test('each statement gets its own answer, also if the caller is woken before it is there', () => {
  const thread = new Worker(LATE, { eval: true })
  onTestFinished(async () => {
    await thread.terminate()
  })
  const startThread = (_file: string, data: unknown, transfer: never[]) => thread.postMessage(data, transfer)
  const client = new Client({ startThread } as never, 'postgres:///home', undefined, 30_000)
  const numbers = Array.from({ length: 100 }, () => client.read('hello')[0]?.number)
  expect(numbers).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
})
