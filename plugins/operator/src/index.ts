/** The code of `substrat mcp --operator`, which commands/mcp.ts loads. No other command does. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import type { Place } from '../../shared/src/face/core.js'
import { LINE_BYTES_MAX, lineTooLong } from '../../shared/src/face/line-limit.js'
import { addDecisions } from './decisions.js'
import { Operator } from './operator.js'
import { addReads } from './reads.js'
import { addSchedules } from './schedules.js'
import { addWrites } from './writes.js'

export interface OperatorOptions extends Place {
  version: string
  /** Whether the client may decide about pending calls and allow tools. */
  mayDecide: boolean
}

const INSTRUCTIONS =
  'Durable agents that outlive this conversation. spawn creates one, send gives it a message, and wait returns its reply. After a restart, find your agents with status, and repeat send with the same key: the message is delivered once, and you get its first outcome.'

/** Settles when the client has closed stdin. Throws if a line of the client is too long. */
async function run({ version, mayDecide, ...place }: OperatorOptions): Promise<void> {
  const server = new McpServer({ name: 'substrat', version }, { instructions: INSTRUCTIONS })
  const operator = new Operator(place)
  server.server.oninitialized = () => {
    const client = server.server.getClientVersion()
    if (client !== undefined)
      operator.commands.actor = {
        face: 'mcp',
        claims: { client: `${client.title ?? client.name} ${client.version}` },
      }
  }
  addReads(server, operator)
  addWrites(server, operator, mayDecide)
  addSchedules(server, operator)
  if (mayDecide) addDecisions(server, operator)
  const closed = new Promise<void>((resolve, reject) => {
    process.stdin.once('close', resolve).once('end', resolve)
    // The transport itself closes the connection only for such a line.
    server.server.onclose = () => reject(lineTooLong())
  })
  const limit = { maxBufferSize: LINE_BYTES_MAX }
  await server.connect(new StdioServerTransport(process.stdin, process.stdout, limit))
  await closed
}

export default { run }
