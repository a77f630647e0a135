import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { agentsTable } from '../src/command/print/describe.js'
import { LISTED_STATUSES, listAgents } from '../src/operations/list-and-show.js'
import { SESSION_STATES } from '../src/schema/words.js'

export default class List extends BaseCommand {
  static override summary = 'List agents with their state and status.'
  static override examples = [
    '<%= config.bin %> list',
    '<%= config.bin %> list --status interrupted_startup --json',
  ]
  static override flags = {
    status: Flags.string({
      options: LISTED_STATUSES,
      description: 'show only agents with this status; default: all',
    }),
    state: Flags.string({
      options: SESSION_STATES,
      description: 'show only agents in this state; default: all but terminated',
    }),
    roots: Flags.boolean({ description: 'show only agents without a parent' }),
    all: Flags.boolean({ description: 'also show terminated agents' }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(List)
    const agents = listAgents(this.openForRead(), flags)
    this.printObject({ agents }, agentsTable(agents, flags))
  }
}
