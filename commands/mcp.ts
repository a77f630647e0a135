import { Command } from '@oclif/core/command'
import { bridgeStdio } from '../src/command/mcp-bridge.js'

/** Not a BaseCommand: it needs no home and no settings, and a program waits for its start in each turn. */
export default class Mcp extends Command {
  static override summary = "Serve substrat's tools over MCP to an agent program such as Claude Code."
  static override description =
    'Agent programs start this command; you do not need to run it. It is an MCP server on stdio. It forwards each call to the process that runs the turn, over the socket in the environment variable SUBSTRAT_SOCKET. After that process has exited, every request returns an error.'
  static override examples = ['<%= config.bin %> mcp']

  async run(): Promise<void> {
    await this.parse(Mcp)
    await bridgeStdio()
  }
}
