import { agent, duration, scheduleName } from '../../src/command/flags.js'
import { WritingCommand } from '../../src/command/writing.js'
import { changeSchedule } from '../../src/operations/schedule/change.js'

export default class ScheduleRemove extends WritingCommand {
  static override summary = 'End a schedule.'
  static override description =
    'Due slots without a turn are recorded as skipped. A running turn goes on. The log keeps everything.'
  static override examples = ['<%= config.bin %> schedule remove report daily']
  static override args = { agent, name: scheduleName }
  static override flags = {
    timeout: duration({ description: 'wait this long for a busy agent; default: the timeout setting' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(ScheduleRemove)
    const agentId = this.resolveForWrite(args.agent)
    const result = await changeSchedule(
      this.context({ waitMs: flags.timeout }),
      agentId,
      args.name,
      'removed',
    )
    const { schedule, changed } = result
    this.printObject(
      result,
      `schedule ${schedule.name} of ${schedule.path} ${changed ? 'is removed' : 'is removed already'}`,
    )
  }
}
