import { agent, duration, scheduleName } from '../../src/command/flags.js'
import { WritingCommand } from '../../src/command/writing.js'
import { changeSchedule } from '../../src/operations/schedule/change.js'

export default class SchedulePause extends WritingCommand {
  static override summary = 'Skip the slots of a schedule until you resume it.'
  static override description = 'The skipped slots are recorded when you resume or remove it.'
  static override examples = ['<%= config.bin %> schedule pause report daily']
  static override args = { agent, name: scheduleName }
  static override flags = {
    timeout: duration({ description: 'wait this long for a busy agent; default: the timeout setting' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(SchedulePause)
    const agentId = this.resolveForWrite(args.agent)
    const result = await changeSchedule(this.context({ waitMs: flags.timeout }), agentId, args.name, 'paused')
    const { schedule, changed } = result
    this.printObject(
      result,
      `schedule ${schedule.name} of ${schedule.path} ${changed ? 'is paused; its slots are skipped until you resume it' : 'is paused already'}`,
    )
  }
}
