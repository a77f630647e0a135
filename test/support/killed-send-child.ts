/**
 * `send`, killed right before the n-th of its steps that change a file, or before the first step of that name. With 0
 * it ends by itself and prints the number of such steps. PLUGIN is the directory of a provider plugin. Bundled and started
 * by useScripts: node killed-send-child.mjs HOME AGENT KEY N [PLUGIN]
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { setFaultHook } from '../../src/host/disk/operation.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from './contexts.js'
import { sendRequest } from './send-request.js'

const [home = '', agentId = '', key = '', n = '0', root] = process.argv.slice(2)
const READS = ['open', 'read']
let steps = 0
const store = FileStore.openForWrite(home)
const pjson = root === undefined ? {} : JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { ctx } = contextAt(store, {
  plugins: root === undefined ? [] : [{ name: 'plugin', version: '1.0.0', root, pjson }],
  bounds: {
    slotsMax: 1,
    waitMs: 3_600_000,
    turnTimeoutMs: 3_600_000,
    toolTimeoutMs: 3_600_000,
    tokenLifetimeMs: 3_600_000,
  },
})
setFaultHook(({ name, point }) => {
  // Opening creates a file, and a lock belongs to a file.
  if (READS.includes(name) && !/create|lock|spawn/.test(point)) return undefined
  steps += 1
  if (steps === Number(n) || point === n) process.kill(process.pid, 'SIGKILL')
  return undefined
})
const request = sendRequest(agentId, { content: 'go', key, ifWaiting: 'fail' })
await deliverMessage(ctx, request, () => undefined)
console.log(steps)
