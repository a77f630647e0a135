/**
 * The lost-wake-up rule: a sender stores its message and then tries the lock; a holder releases the lock and then looks
 * at the inbox again. So the last of them delivers the message.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { openForRead } from '../../src/session/load.js'
import { useScripts } from '../support/scripts.js'
import { newAgent } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const scripts = useScripts('mail-child.ts')

const ROUNDS = Number(process.env.RACES ?? 100)
/** The race is one when the message got a turn of its own in so many rounds: it came behind the turn, or at its end. */
const OWN_TURNS = Math.ceil(ROUNDS / 20)

/** How long it took, in µs. */
async function round(child: ChildProcess, line: string): Promise<number> {
  const begun = performance.now()
  const done = once(child.stdout as NodeJS.ReadableStream, 'data')
  child.stdin?.write(`${line}\n`)
  await done
  return (performance.now() - begun) * 1000
}

test('no message that comes at the end of a turn is left without one of its own', async () => {
  const store = tempStore()
  const id = await newAgent(store, { name: 'a' })
  const [holder, sender] = [0, 1].map(() => scripts.start('mail-child.ts', [store.address])) as [
    ChildProcess,
    ChildProcess,
  ]
  let turnUs = await round(holder, `${id} turn 0`)
  let left = 0
  let tookOver = 0
  let n = 0
  for (; n < ROUNDS || tookOver < OWN_TURNS; n++) {
    // Before the turn, in it, at its end, and after it: as long as the last one took on this machine, and half of that
    // more.
    const pause = Math.round(((n % ROUNDS) / ROUNDS) * 1.5 * turnUs)
    const both = [round(holder, `${id} turn 0`), round(sender, `${id} queue ${pause}`)]
    turnUs = (await Promise.all(both))[0] as number
    // Both have ended and no other command follows, so a pending message would stay for ever.
    left += store.mail.ids(id).length
    if (openForRead(store, id)?.state.run?.origin === 'mail') tookOver += 1
  }
  expect(left).toBe(0)
  expect(openForRead(store, id)?.state.delivered).toHaveLength(n)
})
