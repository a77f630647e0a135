import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { agent } from '../src/command/flags.js'
import { describeAgent, LABEL_COLUMNS } from '../src/command/print/describe.js'
import { hanging, terminalColumns } from '../src/command/print/hanging.js'
import { showAgent } from '../src/operations/list-and-show.js'

export default class Show extends BaseCommand {
  static override summary = 'Show the status of an agent and the next command to run.'
  static override examples = ['<%= config.bin %> show notes', '<%= config.bin %> show notes --reply']
  static override args = {
    agent,
  }
  static override flags = {
    reply: Flags.boolean({ description: 'print only the latest reply' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Show)
    const { store, agentId } = this.resolveForRead(args.agent)
    const agent = showAgent(store, agentId)
    if (flags.reply) this.printObject(agent, agent.reply ?? '')
    else
      this.printObject(agent, atTerminal(describeAgent(agent, this.providers.remedy(agent.agent.provider))))
  }
}

/** Fitted to the width of a terminal. The command to run next stays whole. */
function atTerminal(text: string): string {
  const columns = terminalColumns()
  return columns === undefined
    ? text
    : hanging(text, columns, (line) => (line.startsWith('next ') ? undefined : LABEL_COLUMNS))
}
