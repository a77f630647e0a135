/** Processes that are left when substrat was killed during `shell` tools, once the next command has run: none. */
import { processesWith } from '../../test/support/processes.js'
import { waitFor } from '../../test/support/wait.js'
import type { Lab } from '../support/lab.js'
import { Agent } from './agent.js'

export interface OrphanReport {
  kills: number
  /** Processes of tools that lived on after a kill, all kills together: what recovery had to do. */
  left: number
  orphans: number
}

/** A shell with children in the background, one in a subshell, one that ignores SIGTERM. */
const TREE = "sleep 600 & (sleep 600; true) & (trap '' TERM; while :; do sleep 1; done) & wait"

export async function killedTools(lab: Lab, kills: number): Promise<OrphanReport> {
  const responses = Array.from({ length: kills }, () => ({
    tools: [{ name: 'shell', input: { command: TREE } }],
  }))
  const agent = await Agent.spawn(lab, responses, ['--allow', 'shell'])
  const home = `SUBSTRAT_HOME=${agent.home}`
  let left = 0
  let orphans = 0
  for (let kill = 1; kill <= kills; kill++) {
    const sender = agent.start('send', 'a', `number ${kill}`)
    await agent.waitForRecord('tool.started', kill)
    // Substrat, the shell, and its three children at least.
    await waitFor(() => processesWith(home).length >= 5, 'the tool with its children')
    sender.child.kill('SIGKILL')
    await sender.ended
    left += processesWith(home).length
    await agent.run('recover', '--all')
    orphans += processesWith(home).length
  }
  return { kills, left, orphans }
}
