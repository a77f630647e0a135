import { Command } from '@oclif/core/command'
import { carryOverStdio } from '../src/command/mcp-bridge.js'

/** No BaseCommand: a program waits for it at the start of each of its turns, and it needs no home and no settings. */
export default class Mcp extends Command {
  static override summary = "Offer substrat's tools to the program of an agent, by MCP over stdio."
  static override description =
    'The program of an agent provider starts it in its turn, as an MCP server: its SUBSTRAT_SOCKET leads to the process that runs the turn, which carries each call out and records it. Where nobody does any more, every request is answered with an error.'
  static override examples = ['<%= config.bin %> mcp']

  async run(): Promise<void> {
    await this.parse(Mcp)
    await carryOverStdio()
  }
}
