/**
 * People write in several threads while `channel run` is killed at random, and the platform fails, forgets its answers and
 * delivers messages again. `MESSAGES=1000 SEED=1` make it longer and repeat it.
 *
 * The oracle is the platform and the logs of the agents: each message has one turn and one reply, in the order of its thread.
 */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { SessionRecord } from '../../src/session/records.js'
import { House } from '../support/cli.js'
import { linkChannelPlugin, newPlatform, type Platform } from '../support/platform.js'
import { waitFor } from '../support/wait.js'

const MESSAGES = Number(process.env.MESSAGES ?? 24)
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000)
const THREADS = 4
/** The part of the messages that the platform delivers twice. */
const AGAIN = 0.2
/** The part of the requests to send that fail before, or after, the platform has posted the message. */
const FAILS = 0.1

/** Mulberry32: the same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

test('no message is lost and none runs twice, and doubled replies have the same idempotency id', async () => {
  const random = randomFrom(SEED)
  const [house, platform] = [new House(), await newPlatform()]
  linkChannelPlugin(house)
  platform.onSend = (message, response) => {
    if (random() < FAILS) platform.keep(message, message.replyTo.id)
    else if (random() >= FAILS) return false
    response.destroy()
    return true
  }
  const options = { url: platform.url }
  const channel = { name: 'chat', type: 'loopback', senders: ['ann'], options, tries: 10 }
  await house.ok(
    'config',
    'set',
    'channels',
    JSON.stringify([{ ...channel, agent: { workspace: house.root } }]),
  )

  const sent = new Map<string, string[]>()
  const write = (index: number): void => {
    const thread = `thread ${Math.floor(random() * THREADS)}`
    const update = { id: `m${index}`, thread, text: `message ${index}` }
    sent.set(thread, [...(sent.get(thread) ?? []), update.text])
    platform.write(update)
    if (random() < AGAIN) platform.write(update)
  }
  let kills = 0
  for (let index = 0; index < MESSAGES; kills++) {
    const running = house.start(['channel', 'run', 'chat'])
    for (let count = 1 + Math.floor(random() * 4); count > 0 && index < MESSAGES; count--) write(index++)
    const seen = requests(platform) + 1 + Math.floor(random() * 8)
    // It may have nothing left to do.
    const calm = sleep(5000)
    await Promise.race([waitFor(() => requests(platform) >= seen, 'a request'), calm])
    await sleep(random() * 40)
    running.child.kill('SIGKILL')
    await running.result
  }
  await answerAll(house, platform, sent)

  for (const [thread, texts] of sent) expect(repliesIn(platform, thread)).toEqual(texts)
  const doubled = [...platform.attempts.values()].filter((count) => count > 1).length
  const delivered = mailOf(house).filter(({ kind }) => kind === 'mail.delivered')
  expect(delivered).toHaveLength(MESSAGES)
  console.log(
    `seed ${SEED}: ${MESSAGES} messages in ${sent.size} threads, ${kills} kills: none lost, none run twice; ` +
      `${platform.updates.length - MESSAGES} delivered again by the platform, ${doubled} replies sent again with the same id`,
  )
  expect((await house.run(['doctor', '--all'])).stdout).not.toContain('damaged')
})

function requests({ asked, attempts }: Platform): number {
  return asked.length + [...attempts.values()].reduce((sum, count) => sum + count, 0)
}

/** Runs without kills until every message has its reply. */
async function answerAll(house: House, platform: Platform, sent: Map<string, string[]>): Promise<void> {
  const isAnswered = (): boolean =>
    [...sent].every(([thread, texts]) => repliesIn(platform, thread).length >= texts.length)
  for (let runs = 0; runs < 50 && !isAnswered(); runs++) {
    const { exit, stderr } = await house.start(['channel', 'run', 'chat', '--once']).result
    expect(exit, stderr).toBe(0)
    // After three kills without progress, only a person continues a turn.
    for (const { id, path: name, status } of (await house.ok('list', '--json')).json.agents)
      if (name.startsWith('chat/') && status === 'interrupted_startup') await house.run(['resume', id])
  }
}

/** The messages that the replies in the thread repeat. */
function repliesIn(platform: Platform, thread: string): string[] {
  return platform.textsIn(thread).flatMap((text) => /message \d+$/.exec(text) ?? [])
}

function mailOf(house: House): SessionRecord[] {
  return readdirSync(path.join(house.home, 'agents')).flatMap((id) => house.records(id))
}
