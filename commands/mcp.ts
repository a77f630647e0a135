import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { runFace } from '../src/command/face.js'
import { bridgeStdio } from '../src/command/mcp-bridge.js'
import { refuseInTool } from '../src/dispatch/caller.js'
import { homeAccess } from '../src/settings/home-address.js'

/** Without a flag, src/start/run.ts starts the bridge itself: an agent program waits for it in each turn. */
export default class Mcp extends BaseCommand {
  static override enableJsonFlag = false
  static override summary =
    'Serve tools over MCP: to the program of an agent, or with --operator to any program.'
  static override description =
    'Without a flag, agent programs start this command; you do not need to run it. It is an MCP server on stdio. It forwards each call to the process that runs the turn, over the socket in the environment variable SUBSTRAT_SOCKET. After that process has exited, every request returns an error. With --operator, it gives a program such as Claude Code durable agents that outlive the program.'
  static override examples = ['claude mcp add substrat -- <%= config.bin %> mcp --operator']
  static override flags = {
    operator: Flags.boolean({
      description: 'serve spawn, send, status, wait, inbox and log of this home, with your rights',
    }),
    'allow-decisions': Flags.boolean({
      description:
        'also serve approve, deny and answer, and let spawn allow tools and set options of the provider; default: only you decide',
      dependsOn: ['operator'],
    }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Mcp)
    if (!flags.operator) return bridgeStdio()
    refuseInTool(this.caller, 'act for the operator')
    const { root, version } = this.config
    const mayDecide = flags['allow-decisions']
    const place = { root, home: this.homeRoot, access: homeAccess(() => this.pluginFacts) }
    await runFace('operator', { ...place, version, mayDecide })
  }
}
