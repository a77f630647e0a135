/** The second thread. It gets the module that it runs in its first message. Built into its own file, dist/thread.cjs. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { codeFileFor, readCode, scriptOf, writeCode } from './saved-code.js'
import type { ThreadJob, ThreadModule } from './thread.js'

parentPort?.once('message', ({ file, data }: ThreadJob) => {
  const { exports, saveCode } = loadModule(file)
  exports.start(data, saveCode)
})

function loadModule(file: string): { exports: ThreadModule; saveCode: () => void } {
  const codeFile = codeFileFor(file)
  const source = readFileSync(file)
  const saved = readCode(codeFile, source, () => undefined)
  const script = scriptOf(file, source.toString('utf8'), saved)
  const module = { exports: {} as ThreadModule }
  script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file))
  let isDue = saved === undefined || script.cachedDataRejected === true
  const saveCode = (): void => {
    if (!isDue) return
    isDue = false
    try {
      writeCode(codeFile, source, () => script.createCachedData(), [])
    } catch {
      // The next process tries again.
    }
  }
  return { exports: module.exports, saveCode }
}
