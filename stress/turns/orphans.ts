/** Processes left after substrat is killed during `shell` tools. There must be none, even before the next command. */
import { processesWith } from '../../test/support/processes.js'
import { waitFor } from '../../test/support/wait.js'
import type { Lab } from '../support/lab.js'
import { Agent } from './agent.js'

export interface OrphanReport {
  kills: number
  /** Tool processes that ran when substrat was killed, over all kills. */
  running: number
  /** The processes that survived. */
  orphans: number
}

/** A shell with background children: one in a subshell, one that ignores SIGTERM, one in its own session. */
const TREE =
  "sleep 600 & (sleep 600; true) & (trap '' TERM; while :; do sleep 1; done) & setsid sleep 600 & wait"

export async function killedTools(lab: Lab, kills: number): Promise<OrphanReport> {
  const responses = Array.from({ length: kills }, () => ({
    tools: [{ name: 'shell', input: { command: TREE } }],
  }))
  const agent = await Agent.spawn(lab, responses, ['--allow', 'shell'])
  const home = `SUBSTRAT_HOME=${agent.home}`
  let running = 0
  let orphans = 0
  for (let kill = 1; kill <= kills; kill++) {
    const sender = agent.start('send', 'a', `number ${kill}`)
    await agent.waitForRecord('tool.started', kill)
    // At least substrat, the shell, and its four children.
    await waitFor(() => processesWith(home).length >= 6, 'the tool with its children')
    running += processesWith(home).length - 1
    sender.child.kill('SIGKILL')
    await sender.ended
    await waitFor(() => processesWith(home).length === 0, 'the end of the tool').catch(() => undefined)
    orphans += processesWith(home).length
    await agent.run('recover', '--all')
    // The call has an unknown outcome, so the next message needs a decision.
    await agent.run('cancel', 'a')
  }
  return { kills, running, orphans }
}
