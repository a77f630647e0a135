import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { agent, pattern, since } from '../src/command/flags.js'
import { columnsOf } from '../src/console/print/hanging.js'
import { describeRecord, entryText, shownFilter } from '../src/console/print/transcript.js'
import { stdout } from '../src/console/stdio.js'
import { type LogRequest, readLog } from '../src/operations/read-log.js'
import type { Content } from '../src/schema/types.js'
import { userHere } from '../src/session/actor.js'
import { readText } from '../src/session/read.js'
import type { SessionRecord } from '../src/session/records.js'
import type { Store } from '../src/storage/store.js'

export default class Log extends BaseCommand {
  static override summary = 'Print the event log of an agent.'
  static override description =
    'An entry is printed if it passes every filter: --since, --last-turn, --grep, then -n. With --json, the same filters choose records. --follow applies them to new entries, too.'
  static override examples = [
    '<%= config.bin %> log notes -n 20',
    '<%= config.bin %> log notes --since 1h --grep failed',
    '<%= config.bin %> log notes --last-turn --follow',
    '<%= config.bin %> log notes --follow --until idle --json',
  ]
  static override args = {
    agent,
  }
  static override flags = {
    last: Flags.integer({
      char: 'n',
      min: 1,
      description: 'print only the last N entries, or the last N records with --json; default: all',
    }),
    since: since({ description: 'print only entries since this time; default: all' }),
    grep: pattern({
      description:
        'print only entries with this text, in any case unless it has a capital letter; default: all',
    }),
    'last-turn': Flags.boolean({
      description: 'print only the latest turn, from its prompt on; default: all turns',
    }),
    all: Flags.boolean({
      description:
        'print long texts in full, and when tokens were created, revoked or expired; pipes always have the texts, --json has both',
    }),
    pager: Flags.boolean({
      default: true,
      allowNo: true,
      description: 'on a terminal, show the log in SUBSTRAT_PAGER, PAGER or less -FRX; default: on',
    }),
    follow: Flags.boolean({
      char: 'f',
      description: 'keep printing new entries until you stop it, or a terminated agent is done',
    }),
    until: Flags.string({
      options: ['idle'] as const,
      dependsOn: ['follow'],
      description: 'with --follow, exit once the agent is idle; default: follow until you stop it',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Log)
    const { store, agentId } = this.resolveForRead(args.agent)
    const isJson = this.jsonEnabled()
    const { grep } = flags
    const text = (content: Content): string => readText(store, agentId, content)
    const reader = userHere()
    const request = {
      agentId,
      last: flags.last,
      since: flags.since,
      isLastTurn: flags['last-turn'],
      filter: () => {
        const isShown = isJson ? () => true : shownFilter(flags.all)
        return (record: SessionRecord) =>
          isShown(record) &&
          (grep === undefined || grep.find(entryText(record, text, reader) ?? '') !== undefined)
      },
      follow: flags.follow,
      untilIdle: flags.until === 'idle',
      isRead: () => this.isRead,
    }
    if (!isJson && isDrawn()) return this.forPerson(store, request, text, flags)
    await readLog(store, request, (record) => {
      if (isJson) this.printJsonLine(record)
      else this.print(describeRecord(record, text, reader) as string)
    })
  }

  private async forPerson(
    store: Store,
    request: LogRequest,
    text: (content: Content) => string,
    { all, pager, grep }: { all: boolean; pager: boolean; grep: unknown },
  ): Promise<void> {
    const [{ LogPage }, { openPager, pagerOf }] = await Promise.all([
      import('../src/console/print/log-page.js'),
      import('../src/console/page.js'),
    ])
    const reader = userHere()
    const columns = columnsOf(stdout)
    // An entry that was searched for shows the place that was found.
    const folds = !all && grep === undefined
    const page = new LogPage({ columns, folds, isColoured: !process.env.NO_COLOR })
    const shown = pager && !request.follow ? openPager() : undefined
    const entry = (record: SessionRecord): string =>
      page.entry(record, entryText(record, text, reader) as string)
    if (shown !== undefined) {
      let isShown = false
      try {
        await readLog(store, { ...request, isRead: () => shown.isRead }, (record) =>
          shown.write(entry(record)),
        )
      } finally {
        isShown = await shown.close()
      }
      if (isShown) return
      this.note(`the pager ${pagerOf()} cannot run; name another one in SUBSTRAT_PAGER, or use --no-pager`)
    }
    await readLog(store, request, (record) => {
      stdout.write(entry(record))
    })
  }
}

/** A dumb terminal gets the same as a pipe. */
function isDrawn(): boolean {
  return stdout.isTTY && process.env.TERM !== 'dumb'
}
