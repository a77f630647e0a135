/**
 * People write mail while `channel run` is killed at random, and postfix refuses one attempt in three to send a reply. `MESSAGES=1000
 * SEED=1` make it longer and repeat it.
 *
 * The oracle is the mailboxes, what postfix has taken, and the logs: each mail has one turn, and its reply was sent or dropped by rule.
 * Replies come in the order of their thread, and one that is sent again has the same Message-ID.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Email } from 'postal-mime'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerAll, endsOfReplies } from '../support/channels.js'
import { Random } from '../support/random.js'
import { waitFor } from '../support/wait.js'
import { MailHouse } from './email-house.js'
import { AGENT, ANN, BOB, MailServers } from './mail-servers.js'

const MESSAGES = Number(process.env.MESSAGES ?? 8)
/** Mails that come between two kills, at most. */
const AT_ONCE = MESSAGES > 100 ? 24 : 4
const THREADS = Array.from({ length: MESSAGES > 100 ? 8 : 2 }, (_, index) => ({
  from: index % 2 === 0 ? ANN : BOB,
  id: `<thread-${index}@example.org>`,
}))
const REFUSALS = ['450 4.2.0 Greylisted, try again in 1 seconds', '451 4.3.0 try again', '421 4.3.2 closing']

const servers = new MailServers()

beforeAll(async () => {
  await servers.start()
  for (const address of [AGENT, ANN, BOB]) servers.addUser(address)
})

afterAll(() => servers.close())

test('no mail is lost and none runs twice, and each reply is sent or dropped by rule, in the order of its thread', async () => {
  const random = Random.announced(`mails of a channel: MESSAGES=${MESSAGES}`)
  // An entry for no request: each turn repeats its prompt.
  const house = new MailHouse(servers, [])
  // The cursor is behind all earlier mail.
  await house.runOnce()
  let isFailing = true
  let attempts = 0
  /** The queue ids of the replies that postfix has taken, in order. */
  const taken: string[] = []
  servers.policy = (attributes) => {
    if (attributes.get('sender') !== AGENT) return 'DUNNO'
    const isEnd = attributes.get('protocol_state') === 'END-OF-MESSAGE'
    if (!isEnd) attempts += 1
    // Half of the refusals come after the whole mail.
    if (isFailing && random.chance(1 / 6)) return random.pick(REFUSALS)
    if (isEnd) taken.push(attributes.get('queue_id') as string)
    return 'DUNNO'
  }

  const sent = new Map<string, string[]>()
  const write = async (index: number): Promise<void> => {
    const { from, id } = random.pick(THREADS)
    const earlier = sent.get(id)
    const text = `message ${index}`
    sent.set(id, [...(earlier ?? []), text])
    await servers.send(from, { text, ...(earlier === undefined ? { messageId: id } : { references: id }) })
  }
  let kills = 0
  for (let index = 0; index < MESSAGES; kills++) {
    const running = house.start(['channel', 'run', 'mail'])
    const count = Math.min(1 + random.below(AT_ONCE), MESSAGES - index)
    const seen = attempts + 1 + random.below(2 * count)
    // Also if a mail cannot be written: nothing is left running.
    try {
      for (const end = index + count; index < end; index++) await write(index)
      // It may have nothing left to do.
      const calm = sleep(5000)
      await Promise.race([waitFor(() => attempts >= seen, 'an attempt to send'), calm])
      await sleep(random.below(40))
    } finally {
      await running.kill()
    }
  }
  await servers.waitForMail(AGENT, MESSAGES)
  isFailing = false
  await answerAll(house, { channel: 'mail', count: MESSAGES, run: () => house.runOnce() })
  await servers.allDelivered()

  const ends = endsOfReplies(house)
  const texts = [...sent.values()].flat()
  expect([...ends.keys()].sort()).toEqual([...texts].sort())
  const all = [...(await servers.mailOf(ANN)), ...(await servers.mailOf(BOB))]
  all.sort((a, b) => taken.indexOf(queueIdOf(a)) - taken.indexOf(queueIdOf(b)))
  // The rule of the recipient's server misses a double that it delivers at the same moment. A mail program knows its Message-ID.
  const mails = all.filter(
    ({ messageId }, index) => all.findIndex((mail) => mail.messageId === messageId) === index,
  )
  for (const text of texts) {
    const shown = mails.filter((mail) => messageIn(mail) === text).length
    // If the answer to the last attempt was lost, a reply that counts as dropped has arrived.
    expect(shown, text).toBe(ends.get(text) === 'sent' ? 1 : Math.min(shown, 1))
  }
  for (const [thread, asked] of sent) {
    const shown = mails.filter(({ references }) => references?.includes(thread)).map(messageIn)
    expect(shown, thread).toEqual(asked.filter((text) => shown.includes(text)))
  }
  expect(await house.turns()).toBe(MESSAGES)
  const dropped = texts.filter((text) => ends.get(text) === 'dropped').length
  console.info(
    `seed ${random.seed}: ${MESSAGES} mails in ${sent.size} threads, ${kills} kills, ${attempts} attempts: none lost, none run twice; ` +
      `${MESSAGES - dropped} replies sent, ${dropped} dropped, ${taken.length - mails.length} sent again with the same Message-ID, ${all.length - mails.length} shown twice`,
  )
  expect(house.findings(true)).toEqual([])
})

function messageIn({ text = '' }: Email): string | undefined {
  return /message \d+/.exec(text)?.[0]
}

/** Where postfix has queued the mail that the agent sent. */
function queueIdOf({ headers }: Email): string {
  const received = headers.filter(({ key }) => key === 'received').map(({ value }) => value)
  return /with ESMTPSA id (\w+)/.exec(received.join('\n'))?.[1] ?? 'none'
}
