import { agent, duration, scheduleName } from '../../src/command/flags.js'
import { WritingCommand } from '../../src/command/writing.js'
import { changeSchedule } from '../../src/operations/schedule/change.js'

export default class ScheduleResume extends WritingCommand {
  static override summary = 'Let the slots of a paused schedule have turns again.'
  static override description = 'The slots during the pause stay skipped.'
  static override examples = ['<%= config.bin %> schedule resume report daily']
  static override args = { agent, name: scheduleName }
  static override flags = {
    timeout: duration({ description: 'wait this long for a busy agent; default: the timeout setting' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(ScheduleResume)
    const agentId = this.resolveForWrite(args.agent)
    const result = await changeSchedule(
      this.context({ waitMs: flags.timeout }),
      agentId,
      args.name,
      'resumed',
    )
    const { schedule, changed } = result
    this.printObject(
      result,
      `schedule ${schedule.name} of ${schedule.path} ${changed ? 'is resumed' : 'is not paused'}`,
    )
  }
}
