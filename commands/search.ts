import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { since } from '../src/command/flags.js'
import { terminalColumns } from '../src/console/print/hanging.js'
import { SearchText } from '../src/console/print/search-text.js'
import { stdout } from '../src/console/stdio.js'
import { searchHome } from '../src/operations/search.js'

export default class Search extends BaseCommand {
  static override summary = 'Search messages, tool calls and their results in all agents.'
  static override description =
    'Prints a line for each record with TEXT, under the path of its agent. The agent that changed last comes first, and the records of an agent have the order of its log. TEXT is found in any case unless it has a capital letter. Names of fields and ids are not searched. Takes no lock and writes nothing.'
  static override examples = [
    '<%= config.bin %> search "connection refused"',
    '<%= config.bin %> search deploy --since 7d --agent "lead/*"',
    '<%= config.bin %> search Größe --json',
  ]
  static override args = {
    text: Args.string({ description: 'the text to search for', required: true, ignoreStdin: true }),
  }
  static override flags = {
    since: since({ description: 'search only records since this time; default: all' }),
    agent: Flags.string({
      helpValue: 'PATTERN',
      description:
        'search only agents with this path or id, where * stands for any text; default: all, also terminated ones',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Search)
    const store = this.openForRead()
    if (store === undefined) return
    const columns = terminalColumns()
    const text = new SearchText({ columns, isColoured: columns !== undefined && !process.env.NO_COLOR })
    const isMeant = agentFilter(flags.agent)
    const request = { text: args.text, since: flags.since, isMeant, isRead: () => this.isRead }
    const damage = await searchHome(store, request, (match) => {
      if (this.jsonEnabled()) this.printJsonLine(match)
      else stdout.write(text.lines(match))
    })
    if (damage !== undefined) this.fail(damage, false)
  }
}

function agentFilter(pattern: string | undefined): (path: string | null, agentId: string) => boolean {
  if (pattern === undefined) return () => true
  const parts = pattern.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  const expression = new RegExp(`^${parts.join('.*')}$`, 's')
  return (path, agentId) => (path !== null && expression.test(path)) || agentId.startsWith(pattern)
}
