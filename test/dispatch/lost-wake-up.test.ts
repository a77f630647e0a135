/**
 * The lost-wake-up rule: a sender stores its message and then tries the lock; a holder releases the lock and then looks at
 * the inbox again. So whoever of them is last gives the message its turn.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { openForRead } from '../../src/session/open-for-read.js'
import { useScripts } from '../support/scripts.js'
import { newAgent } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const scripts = useScripts('mail-child.ts')

const ROUNDS = Number(process.env.RACES ?? 100)
/** A turn takes some milliseconds: the sender comes before it, in it, at its end, and after it. */
const SPREAD_US = 12_000

async function round(child: ChildProcess, line: string): Promise<void> {
  const done = once(child.stdout as NodeJS.ReadableStream, 'data')
  child.stdin?.write(`${line}\n`)
  await done
}

test('no message that comes at the end of a turn is left without one of its own', async () => {
  const store = tempStore()
  const id = await newAgent(store, { name: 'a' })
  const [holder, sender] = [0, 1].map(() => scripts.start('mail-child.ts', [store.root])) as [
    ChildProcess,
    ChildProcess,
  ]
  let left = 0
  let tookOver = 0
  for (let n = 0; n < ROUNDS; n++) {
    const pause = Math.round((n / ROUNDS) * SPREAD_US)
    await Promise.all([round(holder, `${id} turn 0`), round(sender, `${id} queue ${pause}`)])
    // Both are done, and nobody else comes by: what is left now would wait for ever.
    left += store.mail.ids(id).length
    if (openForRead(store, id)?.state.run?.origin === 'mail') tookOver += 1
  }
  expect(left).toBe(0)
  expect(openForRead(store, id)?.state.delivered).toHaveLength(ROUNDS)
  // The race was one: the message came now before the turn, now behind it.
  expect(tookOver).toBeGreaterThan(ROUNDS / 20)
})
