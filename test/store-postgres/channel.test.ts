/** Channels of a home in PostgreSQL: in this process, and as processes that are killed or are two at once. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as kit from '../../src/storage/kit.js'
import type { StorePlugin } from '../../src/storage/plugin.js'
import type { Store } from '../../src/storage/store.js'
import { channelConfig, channelState, runOnce, threadAgents } from '../support/channels.js'
import { House } from '../support/cli.js'
import { linkChannelPlugin, newPlatform } from '../support/platform.js'
import { PLUGIN, Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { recordsOf } from '../support/sessions.js'
import { waitFor } from '../support/wait.js'

const file = path.join(PLUGIN, 'dist/index.cjs')

describe.skipIf(whyNoPostgres() !== undefined)('a channel of a home in PostgreSQL', () => {
  const plugin = createRequire(file)(file) as StorePlugin
  let server: Postgres
  beforeAll(() => {
    server = new Postgres()
  })
  afterAll(() => server?.remove())
  const newStore = async (): Promise<Store> => plugin.open(kit, server.url(await server.newHome()), undefined)

  test('has an agent for each thread, replies there, and runs a message once that is delivered again', async () => {
    const [store, platform] = [await newStore(), await newPlatform()]
    const config = channelConfig([{ say: 'first' }, { say: 'second' }])
    platform.write({ id: 'm1', thread: 'one' })
    platform.write({ id: 'm2', thread: 'two', sender: 'bob' })
    platform.write({ id: 'm1', thread: 'one' })
    expect(await runOnce(store, platform, config)).toMatchObject({ received: 2 })
    platform.write({ id: 'm3', thread: 'one' })
    await runOnce(store, platform, config)
    expect([platform.textsIn('one'), platform.textsIn('two')]).toEqual([['first', 'second'], ['first']])
    expect(threadAgents(store).map(({ usage }) => usage?.runs)).toEqual([2, 1])
    expect(channelState(store).channel).toMatchObject({ cursor: '4', pending: [] })
    expect(store.visits.markedIds()).toEqual([])
  })

  test('approves the calls of a turn by the code in the thread', async () => {
    const [store, platform] = [await newStore(), await newPlatform()]
    const call = { tools: [{ name: 'shell', input: { command: 'echo ran >> ran' } }] }
    const config = channelConfig([call, { say: 'done' }])
    platform.write({ text: 'run it' })
    await runOnce(store, platform, config)
    const code = /approve ([0-9a-f]{8})/.exec(platform.textsIn('general').join('\n'))?.[1]
    platform.write({ text: `approve ${code}` })
    await runOnce(store, platform, config)
    expect(platform.textsIn('general').slice(1)).toEqual(['done'])
    const [agent] = threadAgents(store)
    const kinds = recordsOf(store, agent?.id as string).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'tool.started')).toHaveLength(1)
  })

  test('has one process, and after its death in the middle of a reply another one sends the same reply', async () => {
    const [home, platform, house] = [await server.newHome(), await newPlatform(), new House()]
    linkChannelPlugin(house)
    const list = path.join(house.env.XDG_DATA_HOME as string, 'substrat/package.json')
    const plugins = JSON.parse(readFileSync(list, 'utf8'))
    plugins.oclif.plugins.push({ type: 'link', name: 'substrat-store-postgres', root: PLUGIN })
    writeFileSync(list, JSON.stringify(plugins))
    const start = (...args: string[]) => {
      const env = { ...house.env, SUBSTRAT_HOME: server.url(home) }
      const child = spawn(process.execPath, [RUN, ...args], { env, cwd: house.root })
      let stderr = ''
      child.stderr.on('data', (bytes) => {
        stderr += bytes
      })
      const ended = new Promise<{ exit: number | null; stderr: string }>((resolve) =>
        child.once('close', (exit) => resolve({ exit, stderr })),
      )
      return { child, ended }
    }
    const options = { url: platform.url }
    const agent = { provider: 'scripted', workspace: house.root }
    const channels = JSON.stringify([{ name: 'chat', type: 'loopback', senders: ['ann'], options, agent }])
    expect(await start('config', 'set', 'channels', channels).ended).toMatchObject({ exit: 0 })
    platform.write({ text: 'hello' })
    let isFirst = true
    platform.onSend = (message) => {
      if (!isFirst) return false
      isFirst = false
      platform.keep(message, message.replyTo.id)
      return true
    }
    const first = start('channel', 'run', 'chat')
    await waitFor(() => platform.posted.length === 1, 'a reply')
    const second = await start('channel', 'run', 'chat', '--once').ended
    expect(second).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining('another process runs the channel chat'),
    })
    first.child.kill('SIGKILL')
    await first.ended
    expect(await start('channel', 'run', 'chat', '--once').ended).toMatchObject({ exit: 0 })
    expect(platform.textsIn('general')).toEqual([expect.stringContaining('hello')])
    expect([...platform.attempts.values()]).toEqual([2])
    expect(await start('doctor', '--all').ended).toMatchObject({ exit: 0 })
  })
})
