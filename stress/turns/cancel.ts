/** Measures the time from a `cancel` request on disk to the death of the last process of a tool's tree. */
import { watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { isAlive, processesWith } from '../../test/support/processes.js'
import { waitFor } from '../../test/support/wait.js'
import type { Lab } from '../support/lab.js'
import { Agent } from './agent.js'

const TREE = 'sleep 600 & (sleep 600; true) & wait'

/** Milliseconds of each run that could be measured. */
export async function cancelTimes(lab: Lab, runs: number): Promise<number[]> {
  const responses = Array.from({ length: runs }, () => ({
    tools: [{ name: 'shell', input: { command: TREE } }],
  }))
  const agent = await Agent.spawn(lab, responses, ['--allow', 'shell'])
  const times: number[] = []
  for (let run = 1; run <= runs; run++) {
    const sender = agent.start('send', 'a', `number ${run}`)
    await agent.waitForRecord('tool.started', run)
    const tree = (): number[] => processesWith(`SUBSTRAT_AGENT=${agent.id}`)
    await waitFor(() => tree().length >= 4, 'the tool with its children')
    const ms = await timeCancel(agent, tree())
    if (ms !== undefined) times.push(ms)
    await sender.ended
  }
  return times
}

/** Undefined if this process stalled: the programs were gone before it handled the event of the request. */
async function timeCancel(agent: Agent, pids: number[]): Promise<number | undefined> {
  const requests = join(dirname(agent.logPath), 'requests')
  let requestedAt: number | undefined
  const watcher = watch(requests, () => {
    requestedAt ??= performance.now()
  })
  const cancel = agent.start('cancel', 'a')
  let goneAt = 0
  await waitFor(() => {
    goneAt = performance.now()
    return !pids.some(isAlive)
  }, 'the end of the tool')
  watcher.close()
  await cancel.ended
  return requestedAt === undefined ? undefined : goneAt - requestedAt
}
