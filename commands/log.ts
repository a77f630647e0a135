import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { agent } from '../src/command/flags.js'
import { describeRecord, isShown } from '../src/command/print/transcript.js'
import { readLog } from '../src/operations/read-log.js'
import { readRecordText } from '../src/session/read.js'

export default class Log extends BaseCommand {
  static override summary = 'Print the event log of an agent.'
  static override examples = [
    '<%= config.bin %> log notes -n 20',
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
    follow: Flags.boolean({ char: 'f', description: 'keep printing new entries until you stop it' }),
    until: Flags.string({
      options: ['idle'] as const,
      dependsOn: ['follow'],
      description: 'with --follow, exit once the agent is idle; default: follow until you stop it',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Log)
    const { store, agentId } = this.resolveForRead(args.agent)
    const request = {
      agentId,
      last: flags.last,
      counts: this.jsonEnabled() ? () => true : isShown,
      follow: flags.follow,
      untilIdle: flags.until === 'idle',
      isRead: () => this.isRead,
    }
    await readLog(store, request, (record) => {
      if (this.jsonEnabled()) return this.printJsonLine(record)
      const entry = describeRecord(record, (message) => readRecordText(store, agentId, message))
      if (entry !== undefined) this.print(entry)
    })
  }
}
