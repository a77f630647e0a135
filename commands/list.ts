import * as Flags from '@oclif/core/flags'
import { withReadableTimes } from '../src/clock.js'
import { BaseCommand } from '../src/command/base.js'
import { since } from '../src/command/flags.js'
import { printableText } from '../src/console/output.js'
import { agentsTable } from '../src/console/print/describe.js'
import { stdout } from '../src/console/stdio.js'
import {
  LISTED_STATUSES,
  type ListFilter,
  listAgents,
  listedStatus,
  tickerNote,
} from '../src/operations/list-and-show.js'
import { needsPerson, SESSION_STATES } from '../src/schema/words.js'
import { allowGrants } from '../src/settings/allow-grants.js'

export default class List extends BaseCommand {
  static override summary = 'List agents with their status.'
  static override description =
    'At a terminal: newest first, one status for each agent, and its title or the first words of its latest message. In a pipe: one line per agent, oldest first, with state and the same status.'
  static override examples = [
    '<%= config.bin %> list',
    '<%= config.bin %> list --status failed --since 24h',
    '<%= config.bin %> list --watch',
    '<%= config.bin %> list --status needs_you --json',
  ]
  static override flags = {
    status: Flags.string({
      options: LISTED_STATUSES,
      description: 'show only agents with this status; needs_you: those that wait for you; default: all',
    }),
    state: Flags.string({
      options: SESSION_STATES,
      description: 'show only agents in this state; default: all but terminated',
    }),
    since: since({ description: 'show only agents that changed since this time; default: all' }),
    roots: Flags.boolean({ description: 'show only agents without a parent' }),
    all: Flags.boolean({ description: 'also show terminated agents' }),
    watch: Flags.boolean({
      description: 'draw the list again when it changes, until Ctrl-C; agents that need you come first',
    }),
  }

  /** oclif compares a value with the options before it parses the value. */
  protected override async init(): Promise<void> {
    await super.init()
    this.argv = this.argv.map((word, at) => {
      if (word.startsWith('--status=')) return `--status=${listedStatus(word.slice('--status='.length))}`
      return this.argv[at - 1] === '--status' ? listedStatus(word) : word
    })
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(List)
    const { watch, ...filter } = flags
    if (watch || (stdout.isTTY && !this.jsonEnabled())) return this.forPerson(filter, watch)
    const store = this.openForRead()
    const agents = listAgents(store, filter)
    const grants = allowGrants(store)
    const ticker = tickerNote(store, agents)
    const others = { ...(ticker !== undefined && { ticker }), ...(grants.length > 0 && { grants }) }
    this.printObject({ agents, ...others }, agentsTable(agents, filter))
    if (ticker !== undefined && !this.jsonEnabled()) this.note(withReadableTimes(ticker))
  }

  private async forPerson(filter: ListFilter, isWatched: boolean): Promise<void> {
    const [
      { newestFirst, shownOf },
      { listText, paintedList },
      { isColoured },
      { redraw, refuseWithoutTerminal, terminalSize },
    ] = await Promise.all([
      import('../src/operations/list-rows.js'),
      import('../src/console/print/list-rows.js'),
      import('../src/console/live/signs.js'),
      import('../src/console/watch.js'),
    ])
    if (isWatched) refuseWithoutTerminal(this.jsonEnabled())
    const draw = (): string => {
      const store = this.openForRead()
      const found = newestFirst(listAgents(store, filter))
      if (store === undefined || found.length === 0) return agentsTable([], filter)
      const rows = isWatched
        ? [...found.filter(needsPerson), ...found.filter((agent) => !needsPerson(agent))]
        : found
      const { columns, rows: lines } = terminalSize()
      const size = { columns, rowsMax: isWatched ? lines - 2 : undefined }
      const plain = listText(rows, (agent) => shownOf(store, agent), size)
      const text = printableText(plain, stdout)
      return isColoured(stdout) ? paintedList(text, rows.slice(0, size.rowsMax)) : text
    }
    if (isWatched) await redraw(draw, () => this.isRead)
    else {
      stdout.write(`${draw()}\n`)
      const store = this.openForRead()
      const ticker = tickerNote(store, listAgents(store, filter))
      if (ticker !== undefined) this.note(withReadableTimes(ticker))
    }
  }
}
