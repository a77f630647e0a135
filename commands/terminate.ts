import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { drain, duration } from '../src/command/flags.js'
import { terminate } from '../src/operations/terminate.js'

export default class Terminate extends BaseCommand {
  static override summary = 'End an agent for good; its log stays, its name is free again.'
  static override description =
    `A running turn is stopped, and whoever waits for a reply is told by an error. An agent with living children is not terminated but with --recursive: the lowest first, each with a line when it is done, so that the same command can be run again wherever it was killed.`
  static override examples = [
    '<%= config.bin %> terminate notes',
    '<%= config.bin %> terminate lead --recursive',
  ]
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    recursive: Flags.boolean({ default: false, description: 'and all that live below it' }),
    drain,
    timeout: duration({ description: 'how long a running turn is waited for; default: the setting' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Terminate)
    const agentId = this.resolveForWrite(args.agent)
    const ctx = this.context({ waitMs: flags.timeout, drains: flags.drain })
    await terminate(ctx, agentId, flags.recursive, (agent) =>
      this.printEach({ agent }, `${agent.path} is terminated`, flags.recursive),
    )
  }
}
