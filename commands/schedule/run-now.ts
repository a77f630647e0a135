import { agent, duration, scheduleName, stream } from '../../src/command/flags.js'
import { WritingCommand } from '../../src/command/writing.js'
import { runNow } from '../../src/operations/schedule/run-now.js'

export default class ScheduleRunNow extends WritingCommand {
  static override summary = 'Run the message of a schedule now, outside its calendar.'
  static override description = 'It changes no slot. Prints the reply.'
  static override examples = ['<%= config.bin %> schedule run-now report daily']
  static override args = { agent, name: scheduleName }
  static override flags = {
    timeout: duration({
      description: 'wait this long for a busy agent or a slot; default: the timeout setting',
    }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(ScheduleRunNow)
    const agentId = this.resolveForWrite(args.agent)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream, printsReply: true })
    await runNow(ctx, agentId, args.name, (outcome) => this.report(outcome))
  }
}
