/** A chat platform on the loopback, and the channel plugin for it: the smallest that keeps the contract. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage as Request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import type { Channel, IncomingMessage, OutgoingMessage } from '../../src/channel/contract.js'
import type { House } from './cli.js'

export interface Posted extends Omit<OutgoingMessage, 'replyTo'> {
  replyTo: string
}

export class Platform {
  url = ''
  /** The messages of people, by place. */
  readonly updates: IncomingMessage[] = []
  /** The messages that people see, one per idempotency id. */
  readonly posted: Posted[] = []
  /** How often each idempotency id was sent. */
  readonly attempts = new Map<string, number>()
  /** Answers a request to send instead of the platform. True: it has. */
  onSend: (message: OutgoingMessage, response: ServerResponse) => boolean = () => false
  /** Whether the platform ignores idempotency ids, and the channel says so. */
  mayShowTwice = false
  /** The cursors with which messages were asked for. */
  readonly asked: number[] = []
  private readonly waiting = new Set<() => void>()

  write(over: Partial<IncomingMessage> = {}): void {
    const id = String(this.updates.length + 1)
    this.updates.push({ id, thread: 'general', sender: 'ann', text: `message ${id}`, ...over })
    for (const look of [...this.waiting]) look()
  }

  textsIn(thread: string): string[] {
    return this.posted.filter((message) => message.thread === thread).map(({ text }) => text)
  }

  answer(request: Request, response: ServerResponse, body: string): void {
    const { pathname, searchParams } = new URL(request.url as string, this.url)
    if (pathname === '/send') {
      this.take(JSON.parse(body) as OutgoingMessage, response)
      return
    }
    const after = Number(searchParams.get('after'))
    this.asked.push(after)
    const give = (): void => {
      clearTimeout(timer)
      this.waiting.delete(look)
      const messages = this.updates.slice(after, after + Number(searchParams.get('max')))
      response.end(JSON.stringify({ messages, cursor: String(after + messages.length) }))
    }
    const look = (): void => {
      if (this.updates.length > after) give()
    }
    const timer = setTimeout(give, Number(searchParams.get('wait')))
    this.waiting.add(look)
    response.on('close', () => {
      clearTimeout(timer)
      this.waiting.delete(look)
    })
    look()
  }

  private take(message: OutgoingMessage, response: ServerResponse): void {
    const { idempotencyId, replyTo } = message
    this.attempts.set(idempotencyId, (this.attempts.get(idempotencyId) ?? 0) + 1)
    if (this.onSend(message, response)) return
    this.keep(message, replyTo.id)
    response.end(JSON.stringify({ id: `p${this.posted.length}` }))
  }

  keep(message: OutgoingMessage, replyTo: string): void {
    if (
      this.mayShowTwice ||
      this.posted.every(({ idempotencyId }) => idempotencyId !== message.idempotencyId)
    )
      this.posted.push({ ...message, replyTo })
  }
}

export async function newPlatform(): Promise<Platform> {
  const platform = new Platform()
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => platform.answer(request, response, Buffer.concat(pieces).toString('utf8')))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  platform.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return platform
}

const SOURCE = `
const failure = (message, permanent, retryAfterMs) =>
  Object.assign(new Error(message), { failure: { permanent, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) } })
const read = async (response) => {
  if (response.ok) return response.json()
  const after = response.headers.get('retry-after')
  await response.body?.cancel()
  const isPermanent = response.status < 500 && response.status !== 429
  throw failure('the platform answered with status ' + response.status, isPermanent, after === null ? undefined : Number(after) * 1000)
}
module.exports = {
  description: 'a platform of the tests',
  options: { url: 'its address', token: 'its token' },
  secrets: ['token'],
  textCharactersMax: 200,
  check({ options }) {
    if (options.url === undefined) throw failure('the option url is missing', true)
  },
  async open({ options: { url } }) {
    return {
      async receive({ cursor, waitMs, messagesMax }, signal) {
        return read(await fetch(url + '/updates?after=' + (cursor ?? 0) + '&wait=' + waitMs + '&max=' + messagesMax, { signal }))
      },
      async send(message, signal) {
        return read(await fetch(url + '/send', { method: 'POST', body: JSON.stringify(message), signal }))
      },
      async close() {},
    }
  },
}
`

/** The directory of the plugin's package. */
function writeChannelPlugin(parent: string): string {
  const root = path.join(parent, 'channel-loopback')
  mkdirSync(root, { recursive: true })
  writeFileSync(path.join(root, 'index.cjs'), SOURCE)
  const manifest = {
    name: 'channel-loopback',
    version: '1.0.0',
    oclif: {},
    substrat: { channels: { loopback: './index.cjs' } },
  }
  writeFileSync(path.join(root, 'package.json'), JSON.stringify(manifest))
  return root
}

/** The plugin in this process. */
export function loopbackChannel(): Channel {
  const module: { exports?: Channel } = {}
  new Function('module', SOURCE)(module)
  return module.exports as Channel
}

/** Writes the files of `substrat plugins link`. Returns the directory of the plugin. */
export function linkChannelPlugin(house: House): string {
  const root = writeChannelPlugin(house.root)
  const data = path.join(house.env.XDG_DATA_HOME as string, 'substrat')
  mkdirSync(data, { recursive: true })
  const plugins = [{ type: 'link', name: 'channel-loopback', root }]
  const list = { name: 'substrat', private: true, dependencies: {}, oclif: { schema: 1, plugins } }
  writeFileSync(path.join(data, 'package.json'), JSON.stringify(list))
  return root
}
