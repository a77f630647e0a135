import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { agent, pattern, since } from '../src/command/flags.js'
import { describeRecord, entryText, isShown } from '../src/command/print/transcript.js'
import { readLog } from '../src/operations/read-log.js'
import { readRecordText } from '../src/session/read.js'
import type { SessionRecord } from '../src/session/records.js'

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
      description: 'also print when tokens were created, revoked or expired; --json always has them',
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
    const text = (message: SessionRecord): string => readRecordText(store, agentId, message)
    const request = {
      agentId,
      last: flags.last,
      since: flags.since,
      isLastTurn: flags['last-turn'],
      matches: (record: SessionRecord) =>
        (isJson || isShown(record, flags.all)) &&
        (grep === undefined || grep.find(entryText(record, text) ?? '') !== undefined),
      follow: flags.follow,
      untilIdle: flags.until === 'idle',
      isRead: () => this.isRead,
    }
    await readLog(store, request, (record) => {
      if (isJson) this.printJsonLine(record)
      else this.print(describeRecord(record, text) as string)
    })
  }
}
