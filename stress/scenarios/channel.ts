/** A channel, whose platform is a file: each message runs once, and its reply leaves, or leaves again with the same id. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HomeView } from '../support/home-view.js'
import { pathBeside } from '../support/lab.js'
import type { Broken } from '../support/promises.js'
import { ownPlugins, takePlugins } from './own-plugins.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'
import type { Stage } from './stage.js'

const MESSAGES = [
  { thread: 'one', text: 'first' },
  { thread: 'one', text: 'second' },
  { thread: 'two', text: 'hello' },
  { thread: 'two', text: 'again' },
]
const ARGV = ['channel', 'run', 'chat', '--once']

/** The plugin has the messages that people write. The messages that they see are in a file beside the home. */
const SOURCE = `
const { appendFileSync } = require('node:fs')
const MESSAGES = ${JSON.stringify(MESSAGES)}
module.exports = {
  description: 'a platform in a file',
  options: { count: 'the number of messages so far' },
  secrets: [],
  textCharactersMax: 4000,
  open: async ({ options: { count } }) => ({
    async receive({ cursor, messagesMax }) {
      const from = Number(cursor ?? 0)
      const written = MESSAGES.slice(from, Math.min(from + messagesMax, Number(count)))
      const messages = written.map((message, at) => ({ id: String(from + at), sender: 'ann', ...message }))
      return { messages, cursor: String(from + messages.length) }
    },
    async send({ idempotencyId: id, thread, text }) {
      const beside = process.env.SUBSTRAT_LAB_BESIDE ?? process.env.SUBSTRAT_HOME + '.'
      appendFileSync(beside + 'outside', JSON.stringify({ id, thread, text }) + '\\n')
      return {}
    },
    async close() {},
  }),
}
`

export const CHANNEL: Scenario[] = [
  {
    name: 'channel-run',
    argv: ARGV,
    env: (root) => ownPlugins(root, 'channel-run'),
    async prepare(stage) {
      await usePlatform(stage)
      await stage.do('config', 'set', 'channels', channels(stage, 1))
      await stage.do(...ARGV)
      await stage.do('config', 'set', 'channels', channels(stage, MESSAGES.length))
      await stage.do('recover', '--all')
      return undefined
    },
    checkAcknowledged: () => [],
    next: { argv: ARGV, check: (ended) => exits(ended, 0) },
    afterwards: [{ argv: ARGV, check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* repliedOnce(home, 'one')
      yield* repliedOnce(home, 'two')
      const left = home.agent('chat')?.state
      if ((left?.outbound ?? []).length > 0 || left?.channel?.pending.length !== 0)
        yield 'the channel has nothing left to do'
    },
  },
]

function channels(stage: Stage, count: number): string {
  const agent = { provider: 'scripted', workspace: stage.workspace }
  const chat = { name: 'chat', type: 'file', options: { count: String(count) }, senders: ['ann'], agent }
  return JSON.stringify([chat])
}

async function usePlatform(stage: Stage): Promise<void> {
  const root = join(stage.root, 'channel-file')
  mkdirSync(root, { recursive: true })
  writeFileSync(join(root, 'index.cjs'), SOURCE)
  const manifest = {
    ...{ name: 'substrat-channel-file', version: '1.0.0', oclif: {} },
    substrat: { channels: { file: './index.cjs' } },
  }
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest))
  takePlugins(stage.root, 'channel-run')
  await stage.usePlugin(root)
}

/** Each message of the thread ran once, and the thread shows its reply once for each id, in order. */
function* repliedOnce(home: HomeView, thread: string): Broken {
  const texts = MESSAGES.filter((message) => message.thread === thread).map(({ text }) => text)
  const seen = new Map<string, string>()
  for (const message of shownIn(home.path)) if (message.thread === thread) seen.set(message.id, message.text)
  const replies = [...seen.values()]
  if (
    replies.length !== texts.length ||
    texts.some((text, at) => replies[at]?.endsWith(`\n${text}`) !== true)
  )
    yield `the thread ${thread} shows the replies to ${texts.join(', ')}, not ${JSON.stringify(replies)}`
  const agents = new Set(
    home
      .agent('chat')
      ?.state.channel?.threads.flatMap((each) => (each.thread === thread ? [each.agent_id] : [])),
  )
  if (agents.size !== 1) yield `the thread ${thread} has one agent, not ${agents.size}`
  for (const id of agents) {
    const agent = home.agent(id)
    const delivered = agent?.records.filter(({ kind }) => kind === 'mail.delivered') ?? []
    if (delivered.length !== texts.length)
      yield `the agent of ${thread} has ${texts.length} messages, not ${delivered.length}`
    const done = agent?.records.filter(({ kind }) => kind === 'run.completed') ?? []
    if (done.length !== texts.length)
      yield `the agent of ${thread} completes ${texts.length} turns, not ${done.length}`
  }
}

function shownIn(home: string): { id: string; thread: string; text: string }[] {
  const file = pathBeside(home, 'outside')
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}
