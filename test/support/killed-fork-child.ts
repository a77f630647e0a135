/**
 * `fork`, killed right before the n-th of its steps that change a file. With 0 it ends by itself and prints the number of such
 * steps. PLUGIN is the directory of a provider plugin. Bundled and started by useScripts:
 * node killed-fork-child.mjs HOME AGENT NAME N PLUGIN
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { setFaultHook } from '../../src/host/disk/operation.js'
import { fork } from '../../src/operations/fork.js'
import { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from './contexts.js'

const [home = '', agentId = '', name = '', n = '0', root = ''] = process.argv.slice(2)
const READS = ['open', 'read']
let steps = 0
const store = FileStore.openForWrite(home)
const pjson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { ctx } = contextAt(store, { plugins: [{ name: 'plugin', version: '1.0.0', root, pjson }] })
setFaultHook((step) => {
  if (READS.includes(step.name) && !/create|lock|spawn/.test(step.point)) return undefined
  steps += 1
  if (steps === Number(n)) process.kill(process.pid, 'SIGKILL')
  return undefined
})
await fork(ctx, { agentId, name, provider: null, model: null, workspace: null, options: {} })
console.log(steps)
