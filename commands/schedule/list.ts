import * as Args from '@oclif/core/args'
import { withReadableTimes } from '../../src/clock.js'
import { BaseCommand } from '../../src/command/base.js'
import { schedulesTable } from '../../src/console/print/schedule-text.js'
import { listSchedules } from '../../src/operations/schedule/list.js'

export default class ScheduleList extends BaseCommand {
  static override summary = 'List schedules with their next slot and the outcome of the last one.'
  static override examples = [
    '<%= config.bin %> schedule list',
    '<%= config.bin %> schedule list report --json',
  ]
  static override args = {
    agent: Args.string({
      description: 'list only those of this agent; default: all that are not terminated',
      ignoreStdin: true,
    }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(ScheduleList)
    const agentId = args.agent === undefined ? undefined : this.resolveForRead(args.agent).agentId
    const view = listSchedules(this.openForRead(), agentId)
    this.printObject(view, schedulesTable(view))
    if (view.ticker !== undefined && !this.jsonEnabled()) this.note(withReadableTimes(view.ticker))
  }
}
