/** An HTTP server on the loopback that answers as a test says, and contexts that notify it. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { needsVisit } from '../../src/dispatch/pending-visits.js'
import { type NotifyTarget, notifyRules } from '../../src/outbound/notify.js'
import { notifyTargets } from '../../src/outbound/notify-target.js'
import { CommandOutbound } from '../../src/outbound/outbound.js'
import type { NotifyEvent } from '../../src/schema/words.js'
import type { Store } from '../../src/storage/store.js'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: string
}

export interface TargetServer {
  url: string
  received: Received[]
}

/** `answer`: of each request, by its number from 0. */
export async function targetServer(
  answer: (response: ServerResponse, index: number) => void = (response) => void response.end(),
): Promise<TargetServer> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { url: path = '', headers } = request
      received.push({ path, headers, body: Buffer.concat(pieces).toString('utf8') })
      answer(response, received.length - 1)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

export function target(name: string, url: string, over: Partial<NotifyTarget> = {}): NotifyTarget {
  const on: NotifyEvent[] = ['waiting', 'failed', 'interrupted', 'limited', 'completed']
  const defaults = { format: 'json' as const, triesMax: 3, timeoutMs: 60_000, lifetimeMs: () => 60_000 }
  return { name, on, agents: ['**'], url, ...defaults, ...over }
}

/** The outbound part of a context for those targets. */
export function outboundTo(store: Store, targets: NotifyTarget[], waitMs = 60_000): CommandOutbound {
  return new CommandOutbound({
    store,
    command: 'test',
    note: () => undefined,
    needsVisit,
    rules: notifyRules(targets),
    secrets: {},
    waitMs,
    targets: async () =>
      notifyTargets(
        targets,
        { homeId: store.homeId, variables: new Map(), stderr: 'ignore' },
        () => undefined,
      ),
  })
}
