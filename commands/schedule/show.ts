import { BaseCommand } from '../../src/command/base.js'
import { agent, scheduleName } from '../../src/command/flags.js'
import { scheduleText } from '../../src/console/print/schedule-text.js'
import { shellWord } from '../../src/errors.js'
import { showSchedule } from '../../src/operations/schedule/list.js'

export default class ScheduleShow extends BaseCommand {
  static override summary = 'Show a schedule, its next slots, and the outcome of its last ones.'
  static override examples = ['<%= config.bin %> schedule show report daily']
  static override args = { agent, name: scheduleName }

  async run(): Promise<void> {
    const { args } = await this.parse(ScheduleShow)
    const { store, agentId } = this.resolveForRead(args.agent)
    const shown = showSchedule(store, agentId, args.name)
    this.printObject(shown, scheduleText(shown))
    const words = `${shellWord(shown.path)} ${shellWord(shown.name)}`
    if (shown.is_ahead)
      this.note(
        `the next slot is later than in the calendar: the clock was ahead during an earlier command. To begin from now, remove the schedule, then add it again: substrat schedule remove ${words}`,
      )
  }
}
