import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { describeAgent } from '../src/command/print/describe.js'
import { showAgent } from '../src/operations/look.js'

export default class Show extends BaseCommand {
  static override summary = 'Show what an agent is doing, who holds it, and what to do next.'
  static override examples = ['<%= config.bin %> show notes', '<%= config.bin %> show notes --reply']
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    reply: Flags.boolean({ description: 'only its latest reply' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Show)
    const { store, agentId } = this.resolveForRead(args.agent)
    const agent = showAgent(store, agentId)
    this.printObject(agent, flags.reply ? (agent.reply ?? '') : describeAgent(agent))
  }
}
