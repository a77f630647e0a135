/** The host and the tool server for agents in the conformance suite. */
import { randomUUID } from 'node:crypto'
import type { ProcessGroup } from '../../schema/types.js'
import type { AgentHost, ToolServer } from '../host-contract.js'
import { killOrphanedGroup } from '../process-group.js'
import { createHost } from '../program.js'
import { demand } from './case.js'

/** Runs a case with a host like substrat's own. At its end, no launched program may run. */
export async function withHost<T>(
  tools: ToolServer | null,
  act: (host: AgentHost, mustHaveEnded: () => Promise<void>, launched: ProcessGroup[]) => Promise<T>,
): Promise<T> {
  const runId = randomUUID()
  const groups: ProcessGroup[] = []
  const environment = {
    SUBSTRAT_RUN: runId,
    SUBSTRAT_AGENT: runId,
    SUBSTRAT_HOME: '/nonexistent',
    SUBSTRAT_LOG: '/nonexistent',
  }
  const host = createHost({ environment, tools, record: (group) => void groups.push(group) })
  const mustHaveEnded = async (): Promise<void> => {
    for (const group of groups) {
      demand((await killOrphanedGroup(group, runId)) === 'gone', 'no program may run after suspend or stop')
    }
  }
  try {
    return await act(host, mustHaveEnded, groups)
  } finally {
    await mustHaveEnded()
  }
}

/** A tool server without tools, in place of substrat's own. */
export function toolServer(): ToolServer {
  const script = `
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line)
      const serverInfo = { name: 'none', version: '0' }
      if (method === 'initialize') {
        say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } })
      } else if (id !== undefined) say({ id, result: method === 'tools/list' ? { tools: [] } : {} })
    })`
  return {
    name: 'substrat',
    command: process.execPath,
    args: ['-e', script],
    env: { SUBSTRAT_CONFORMANCE: '1' },
    respond: async (message) => responseTo(message),
  }
}

/** As the script responds. */
function responseTo(message: object): object | undefined {
  const { id, method, params } = message as { id?: unknown; method?: string; params?: object }
  if (id === undefined) return undefined
  const serverInfo = { name: 'none', version: '0' }
  const opened = { ...params, capabilities: { tools: {} }, serverInfo }
  const result = method === 'initialize' ? opened : method === 'tools/list' ? { tools: [] } : {}
  return { jsonrpc: '2.0', id, result }
}
