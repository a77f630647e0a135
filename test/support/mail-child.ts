/**
 * A process that sends on request. A line `<agent> queue|turn <pause in µs>` on stdin runs one command with its own
 * context, and `done` on stdout reports its end. This way hundreds of commands can race without a process start each.
 */
import { createInterface } from 'node:readline'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from './contexts.js'
import { sendRequest } from './send-request.js'

const [root] = process.argv.slice(2) as [string]
const store = FileStore.openForWrite(root)

for await (const line of createInterface({ input: process.stdin })) {
  const [agentId = '', how, pauseUs] = line.split(' ')
  const end = performance.now() + Number(pauseUs) / 1000
  while (performance.now() < end);
  const { ctx } = contextAt(store, { bounds: { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000 } })
  const isQueued = how === 'queue'
  const request = sendRequest(agentId, { content: isQueued ? 'queued' : 'said', isQueued })
  await deliverMessage(ctx, request, () => undefined)
  ctx.shutdown.close()
  process.stdout.write('done\n')
}
