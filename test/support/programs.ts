/** Programs launched as a turn launches them, without a session. */
import { randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { processGroup } from '../../src/host/identity.js'
import type { AgentHost } from '../../src/provider/host-contract.js'
import { killOrphanedGroup } from '../../src/provider/process-group.js'
import { createHost } from '../../src/provider/program.js'
import type { ProcessGroup } from '../../src/schema/types.js'

export interface RecordedHost {
  host: AgentHost
  runId: string
  groups: ProcessGroup[]
}

/** Programs that it launches are killed after the test. */
export function recordedHost(record: (group: ProcessGroup) => void = () => undefined): RecordedHost {
  const runId = randomUUID()
  const groups: ProcessGroup[] = []
  onTestFinished(async () => {
    for (const group of groups) await killOrphanedGroup(group, runId)
  })
  const environment = { SUBSTRAT_HOME: '/h', SUBSTRAT_AGENT: 'a', SUBSTRAT_RUN: runId, SUBSTRAT_LOG: '/l' }
  const host = createHost({
    environment,
    record: (group) => {
      groups.push(group)
      record(group)
    },
  })
  return { host, runId, groups }
}

/** A zombie, which its parent has not yet reaped, is dead. */
export function isAlive(pid: number): boolean {
  return processGroup(pid) !== undefined
}
