import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { agent } from '../src/command/flags.js'
import { describeAgent, LABEL_COLUMNS } from '../src/console/print/describe.js'
import { hanging, terminalColumns } from '../src/console/print/hanging.js'
import { noteLines } from '../src/console/print/note-lines.js'
import { changesOf } from '../src/console/print/pending-calls.js'
import { showAgent } from '../src/operations/list-and-show.js'
import { pendingAsk } from '../src/operations/pending-calls.js'
import { userHere } from '../src/session/actor.js'
import { allowGrants } from '../src/settings/allow-grants.js'

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
    const agent = showAgent(store, agentId, allowGrants(store))
    if (flags.reply) return this.printObject(agent, agent.reply ?? '')
    const remedy = this.providers.remedy(agent.agent.provider)
    const columns = this.jsonEnabled() ? undefined : terminalColumns()
    const asks = agent.wait?.kind === 'approval' ? pendingAsk(store, agentId) : undefined
    const text = describeAgent(agent, {
      remedy,
      changes: asks === undefined ? [] : changesOf(asks),
      reader: userHere(),
    })
    if (columns === undefined) return this.printObject(agent, text)
    // Fitted to the width. The commands of the next step stay whole.
    const below = (step: string): string =>
      noteLines(step, columns - LABEL_COLUMNS).replaceAll('\n', `\n${' '.repeat(LABEL_COLUMNS)}`)
    const indentOf = (line: string): number | undefined =>
      line.startsWith('next ') ? undefined : LABEL_COLUMNS
    this.print(
      hanging(text, columns, indentOf).replace(/^(next +)(.+)$/m, (_, label, step) => label + below(step)),
    )
  }
}
