/** What the agents of the conformance suite run with: a host that knows what they have launched, and a tool server. */
import { randomUUID } from 'node:crypto'
import type { ProcessGroup } from '../../session/fields.js'
import type { AgentHost, McpStdioServer } from '../host-contract.js'
import { killOrphanedGroup } from '../process-group.js'
import { createHost } from '../program.js'
import { demand } from './case.js'

/** A host like substrat's own; no program that it launched may be left when the case is over. */
export async function withHost<T>(
  tools: McpStdioServer | null,
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
      demand(
        (await killOrphanedGroup(group, runId)) === 'gone',
        'no program is left when its session has let go',
      )
    }
  }
  try {
    return await act(host, mustHaveEnded, groups)
  } finally {
    await mustHaveEnded()
  }
}

/** A tool server that has no tools: what a program starts where substrat offers its own. */
export function toolServer(): McpStdioServer {
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
  }
}
