/** Ends connections that would otherwise cost the server memory or time for nothing. */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'

interface Times {
  /** Cut off a client that reads nothing of its answer for this long. Streams of events have a shorter limit of their own. */
  stallMs: number
  /** How long a client may send a body that the answer did not wait for, such as one without a token. */
  lingerMs: number
}

const TIMES: Times = { stallMs: 60_000, lingerMs: 1000 }

export function cutConnections(http: HttpServer, { stallMs, lingerMs }: Times = TIMES): void {
  http.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming
    socket.setTimeout(stallMs)
    // With a listener, Node does not end the connection itself. A turn may take any time, and its answer waits for it.
    outgoing.on('timeout', () => {
      if (socket.writableLength > 0) socket.destroy()
    })
    outgoing.once('finish', () => {
      if (!incoming.complete) setTimeout(() => incoming.complete || socket.destroy(), lingerMs).unref()
    })
  })
}
