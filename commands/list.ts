import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { agentsTable } from '../src/command/print/describe.js'
import { listAgents, STATES, STATUSES } from '../src/operations/look.js'

export default class List extends BaseCommand {
  static override summary = 'List the agents: their state, and what each is doing.'
  static override examples = [
    '<%= config.bin %> list',
    '<%= config.bin %> list --status interrupted_startup --json',
  ]
  static override flags = {
    status: Flags.string({ options: STATUSES, description: 'only agents of this status' }),
    state: Flags.string({ options: STATES, description: 'only agents in this state' }),
    roots: Flags.boolean({ description: 'only agents without a parent' }),
    all: Flags.boolean({ description: 'terminated ones too' }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(List)
    const agents = listAgents(this.openForRead(), flags)
    this.printObject({ agents }, agentsTable(agents, flags))
  }
}
