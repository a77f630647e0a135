/** An outside program that uses `substrat mcp --operator` with the SDK of MCP. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { House } from '../support/cli.js'

// biome-ignore lint/suspicious/noExplicitAny: what a tool answers is compared with what is expected
type Json = any

export class Outsider {
  private constructor(
    private readonly client: Client,
    private readonly transport: StdioClientTransport,
  ) {}

  static async open(house: House, ...flags: string[]): Promise<Outsider> {
    const [command, ...args] = house.command('mcp', '--operator', ...flags)
    const transport = new StdioClientTransport({ command, args, env: house.env, cwd: house.workspace })
    const client = new Client({ name: 'outsider', version: '1' })
    await client.connect(transport)
    return new Outsider(client, transport)
  }

  async tools(): Promise<string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name)
  }

  /** The JSON that the tool answers with. Throws its error. */
  async call(name: string, args: Record<string, unknown> = {}): Promise<Json> {
    const { isError, content } = await this.client.callTool({ name, arguments: args })
    const [{ text }] = content as [{ text: string }]
    if (isError === true) throw new Error(text)
    return JSON.parse(text)
  }

  kill(): void {
    process.kill(this.transport.pid as number, 'SIGKILL')
  }

  close(): Promise<void> {
    return this.client.close()
  }
}
