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
import { answerAll, endsOfReplies } from '../support/channels.js'
import { House } from '../support/cli.js'
import { linkChannelPlugin, newPlatform, type Platform } from '../support/platform.js'
import { Random } from '../support/random.js'
import { waitFor } from '../support/wait.js'

const MESSAGES = Number(process.env.MESSAGES ?? 24)
const THREADS = 4
/** The part of the messages that the platform delivers twice. */
const AGAIN = 0.2
/** The part of the requests to send that fail, half of them after the platform has posted the message. */
const FAILS = 1 / 3

test('no message is lost and none runs twice, and doubled replies have the same idempotency id', async () => {
  const random = Random.announced(`messages of a channel: MESSAGES=${MESSAGES}`)
  const [house, platform] = [new House(), await newPlatform()]
  linkChannelPlugin(house)
  platform.onSend = (message, response) => {
    if (!random.chance(FAILS)) return false
    if (random.chance(0.5)) platform.keep(message, message.replyTo.id)
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
    const thread = `thread ${random.below(THREADS)}`
    const update = { id: `m${index}`, thread, text: `message ${index}` }
    sent.set(thread, [...(sent.get(thread) ?? []), update.text])
    platform.write(update)
    if (random.chance(AGAIN)) platform.write(update)
  }
  let kills = 0
  for (let index = 0; index < MESSAGES; kills++) {
    const running = house.start(['channel', 'run', 'chat'])
    for (let count = 1 + random.below(4); count > 0 && index < MESSAGES; count--) write(index++)
    const seen = requests(platform) + 1 + random.below(8)
    // It may have nothing left to do.
    const calm = sleep(5000)
    await Promise.race([waitFor(() => requests(platform) >= seen, 'a request'), calm])
    await sleep(random.below(40))
    running.child.kill('SIGKILL')
    await running.result
  }
  // The platform goes on failing.
  const run = async (): Promise<string> => {
    const { exit, stderr } = await house.start(['channel', 'run', 'chat', '--once']).result
    expect(exit, stderr).toBe(0)
    return stderr
  }
  await answerAll(house, { channel: 'chat', count: MESSAGES, run })

  const ends = endsOfReplies(house)
  expect(ends.size).toBe(MESSAGES)
  for (const [thread, texts] of sent) {
    const shown = repliesIn(platform, thread)
    // The platform may have posted a reply that counts as dropped, because its answers were lost.
    expect(shown).toEqual(texts.filter((text) => ends.get(text) === 'sent' || shown.includes(text)))
  }
  const doubled = [...platform.attempts.values()].filter((count) => count > 1).length
  const delivered = mailOf(house).filter(({ kind }) => kind === 'mail.delivered')
  expect(delivered).toHaveLength(MESSAGES)
  console.log(
    `seed ${random.seed}: ${MESSAGES} messages in ${sent.size} threads, ${kills} kills: none lost, none run twice; ${[...ends.values()].filter((end) => end === 'dropped').length} replies dropped, ` +
      `${platform.updates.length - MESSAGES} delivered again by the platform, ${doubled} replies sent again with the same id`,
  )
  expect((await house.run(['doctor', '--all'])).stdout).not.toContain('damaged')
})

function requests({ asked, attempts }: Platform): number {
  return asked.length + [...attempts.values()].reduce((sum, count) => sum + count, 0)
}

/** The messages that the replies in the thread repeat. */
function repliesIn(platform: Platform, thread: string): string[] {
  return platform.textsIn(thread).flatMap((text) => /message \d+$/.exec(text) ?? [])
}

function mailOf(house: House): SessionRecord[] {
  return readdirSync(path.join(house.home, 'agents')).flatMap((id) => house.records(id))
}
