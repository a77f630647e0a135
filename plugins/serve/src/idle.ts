/** `--exit-when-idle`: a server that a socket unit starts for a burst of requests ends after it. */
import type { Server as HttpServer, ServerResponse } from 'node:http'
import type { Commands } from '../../shared/src/face/commands.js'

/** Calls back once there was no request, no stream and no command of this server for so long. */
export function onIdle(http: HttpServer, commands: Commands, idleMs: number, onEnd: () => void): void {
  let open = 0
  let timer: NodeJS.Timeout | undefined
  const look = (): void => {
    clearTimeout(timer)
    if (open === 0 && commands.count === 0) timer = setTimeout(onEnd, idleMs).unref()
  }
  http.on('request', (_, response: ServerResponse) => {
    open += 1
    look()
    response.once('close', () => {
      open -= 1
      look()
    })
  })
  commands.onEnd = look
  look()
}
