/** The second thread. It gets the module that it runs in its first message. Built into its own file, dist/thread.cjs. */
import { parentPort } from 'node:worker_threads'
import { runSaved } from './saved-module.js'
import type { ThreadJob, ThreadModule } from './thread.js'

parentPort?.once('message', ({ file, data }: ThreadJob) => {
  const saved = runSaved(file)
  let { isDue } = saved
  const saveCode = (): void => {
    if (!isDue) return
    isDue = false
    try {
      saved.save()
    } catch {
      // The next process tries again.
    }
  }
  const { start } = saved.module.exports as ThreadModule
  start(data, saveCode)
})
