/**
 * People write to a bot while `channel run` is killed at random, and Telegram fails, loses its answers and delivers updates
 * again. `MESSAGES=1000 SEED=1` make it longer and repeat it.
 *
 * The oracle is the platform and the logs of the agents: each message has one turn and its reply, in the order of its chat. Telegram
 * knows no idempotency keys, so a reply shows again if its answer was lost, or if substrat died before the answer was in the log.
 * The bound is two. A reply that reaches it is dropped with a reason.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { answerAll, endsOfReplies } from '../../support/channels.js'
import { House } from '../../support/cli.js'
import { Random } from '../../support/random.js'
import { newTelegram, refuse, type Telegram, type Update } from '../../support/telegram.js'
import { waitFor } from '../../support/wait.js'
import { settingsFor } from './plugin.js'

const MESSAGES = Number(process.env.MESSAGES ?? 12)
const PEOPLE = [501, 502, 503]
/** The part of the requests that fail before the method was carried out, and of the others that fail after it: one in three. */
const [FAILS, FAILS_AFTER] = [1 / 6, 1 / 5]
const AGAIN = 0.2
/** The bound of docs/telegram.md. */
const SHOWN_MAX = 2

test('no message is lost and none runs twice, and no process sends a reply again that was answered', async () => {
  const random = Random.announced(`messages of Telegram: MESSAGES=${MESSAGES}`)
  const [house, telegram] = [House.ofProcesses(), await newTelegram()]
  const [channel] = JSON.parse(settingsFor(house, telegram.url))
  await house.ok('config', 'set', 'channels', JSON.stringify([{ ...channel, senders: ['*'], tries: 10 }]))
  let isFailing = true
  /** Messages that were shown without an answer to substrat. */
  let cut = 0
  let kills = 0
  const answered: string[] = []
  telegram.before = (_, response) => {
    if (!isFailing || !random.chance(FAILS)) return false
    const kind = random.below(3)
    if (kind === 0) return refuse(response, 429, 'Too Many Requests: retry after 0', 0)
    if (kind === 1) return refuse(response, 502, 'Bad Gateway')
    response.destroy()
    return true
  }
  telegram.after = (method, response, { chat_id: chat, text }) => {
    if (isFailing && random.chance(FAILS_AFTER)) {
      if (method === 'sendMessage') cut += 1
      response.destroy()
      return true
    }
    if (method === 'sendMessage') answered.push(`process ${kills}, chat ${chat}: ${text}`)
    return false
  }

  const sent = new Map<number, string[]>()
  const write = (index: number): void => {
    const person = random.pick(PEOPLE)
    const text = `message ${index}`
    sent.set(person, [...(sent.get(person) ?? []), text])
    const message = telegram.write(person, text)
    // An edit that changes nothing, and the same update once more.
    if (random.chance(AGAIN)) telegram.add('edited_message', message)
    if (random.chance(AGAIN)) telegram.repeat(telegram.pending.at(-1) as Update)
  }
  for (let index = 0; index < MESSAGES; kills++) {
    const running = house.start(['channel', 'run', 'telegram'])
    for (let count = 1 + random.below(4); count > 0 && index < MESSAGES; count--) write(index++)
    const seen = telegram.calls.length + 1 + random.below(8)
    // It may have nothing left to do.
    const calm = sleep(5000)
    await Promise.race([waitFor(() => telegram.calls.length >= seen, 'a request'), calm])
    await sleep(random.below(40))
    await running.kill()
  }
  isFailing = false
  const run = async (): Promise<string> => {
    const { exit, stderr } = await house.run(['channel', 'run', 'telegram', '--once'])
    expect(exit, stderr).toBe(0)
    return stderr
  }
  await answerAll(house, { channel: 'telegram', count: MESSAGES, run })

  const ends = endsOfReplies(house)
  expect(ends.size).toBe(MESSAGES)
  for (const [person, texts] of sent) {
    const seen = [...new Set(repliesTo(telegram, person))]
    // Telegram may have shown a reply that counts as dropped, because its answers were lost.
    expect(seen).toEqual(texts.filter((text) => ends.get(text) === 'sent' || seen.includes(text)))
    const counts = texts.map((text) => repliesTo(telegram, person).filter((each) => each === text).length)
    expect(Math.max(...counts)).toBeLessThanOrEqual(SHOWN_MAX)
    for (const [index, text] of texts.entries())
      if (ends.get(text) === 'sent') expect(counts[index], text).toBeGreaterThan(0)
  }
  for (const { why, text } of (await house.ok('outbox', '--dropped', '--json')).json.messages)
    expect(why, text).toMatch(/may have been shown|^Telegram did not take the message/)
  const shown = telegram.shown.length
  const delivered = (await house.ok('list', '--json')).json.agents.flatMap(({ id }: { id: string }) =>
    house.records(id).filter(({ kind }) => kind === 'mail.delivered'),
  )
  expect(delivered).toHaveLength(MESSAGES)
  expect(answered).toHaveLength(new Set(answered).size)
  console.info(
    `seed ${random.seed}: ${MESSAGES} messages in ${sent.size} chats, ${kills} kills, ${cut} answers lost: ` +
      `none lost, none run twice; ${[...ends.values()].filter((end) => end === 'dropped').length} replies dropped, ${shown - MESSAGES} more shown than written`,
  )
  expect(house.findings(true)).toEqual([])
})

test('a reply is shown twice if each process dies after Telegram has shown it, and then it is dropped with a reason', async () => {
  const [house, telegram] = [House.ofProcesses(), await newTelegram()]
  const [channel] = JSON.parse(settingsFor(house, telegram.url))
  await house.ok('config', 'set', 'channels', JSON.stringify([{ ...channel, senders: ['*'], tries: 10 }]))
  telegram.after = (method) => method === 'sendMessage'
  telegram.write(501, 'message 0')
  for (const times of [1, 2]) {
    const running = house.start(['channel', 'run', 'telegram'])
    await waitFor(() => telegram.shown.length === times, 'the reply')
    await running.kill()
  }
  const { exit, stderr } = await house.run(['channel', 'run', 'telegram', '--once'])
  expect([exit, repliesTo(telegram, 501)], stderr).toEqual([0, ['message 0', 'message 0']])
  expect(stderr).toContain('it may have been shown')
  expect((await house.ok('outbox', '--dropped', '--json')).json.messages).toMatchObject([
    { reason: 'attempts', why: 'the answers to its attempts were lost; it may have been shown' },
  ])
})

/** The messages that the replies in the chat repeat. */
function repliesTo(telegram: Telegram, person: number): string[] {
  return telegram.textsIn(person).flatMap((text) => /message \d+$/.exec(text) ?? [])
}
