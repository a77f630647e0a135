import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { agent, duration, end } from '../../src/command/flags.js'
import { WritingCommand } from '../../src/command/writing.js'
import { readMessage } from '../../src/console/input.js'
import { nextText } from '../../src/console/print/schedule-text.js'
import { addSchedule } from '../../src/operations/schedule/add.js'
import { MISSED_POLICIES, OVERLAP_POLICIES } from '../../src/schema/words.js'

export default class ScheduleAdd extends WritingCommand {
  static override summary = 'Send an agent a message at the times of a calendar.'
  static override description =
    'WHEN is a cron expression of five fields (minute, hour, day, month, weekday), or an interval: every 15m, every 1h, every 1d. substrat deliver --all begins the due turns, so run it each minute (substrat units). Repeating the command changes nothing. With the name of a schedule and other values, it replaces that schedule.'
  static override examples = [
    `<%= config.bin %> schedule add report '0 7 * * *' 'Write the daily report.' --name daily`,
    `<%= config.bin %> schedule add report 'every 15m' 'Check the queue.' --missed skip`,
    `<%= config.bin %> schedule add report '0 9 1 * *' - --tz Europe/Berlin < monthly.md`,
  ]
  static override args = {
    agent,
    when: Args.string({
      description:
        "a cron expression such as '0 7 * * MON-FRI', or an interval: 'every 15m', 'every 1h', 'every 1d'",
      required: true,
      ignoreStdin: true,
    }),
    message: Args.string({
      description: 'the message; - reads it from stdin, also after a message',
      ignoreStdin: true,
    }),
    dash: Args.string({ hidden: true, ignoreStdin: true }),
  }
  static override flags = {
    name: Flags.string({ description: 'a name for the schedule; default: the first free number' }),
    tz: Flags.string({
      helpValue: 'ZONE',
      description: 'the time zone of the calendar, such as Europe/Berlin; default: the zone of this machine',
    }),
    missed: Flags.option({
      options: MISSED_POLICIES,
      default: 'once',
      description:
        'the turns for slots that no command began in time. once: one, with a list of them; skip: none; all: one each, up to 100',
    })(),
    overlap: Flags.option({
      options: OVERLAP_POLICIES,
      default: 'skip',
      description:
        'what to do about slots during the turn of an earlier slot. skip: none; queue: a turn after it',
    })(),
    until: end({ description: 'have no slot after this time, or this long from now; default: no end' }),
    jitter: duration({
      description:
        'begin each slot up to this much later; every command computes the same delay for a slot; default: 0',
    }),
    timeout: duration({ description: 'wait this long for a busy agent; default: the timeout setting' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(ScheduleAdd)
    const agentId = this.resolveForWrite(args.agent)
    const content = await readMessage({ message: args.message, dash: args.dash })
    const result = await addSchedule(this.context({ waitMs: flags.timeout }), agentId, {
      when: args.when,
      content,
      name: flags.name,
      zone: flags.tz,
      missed: flags.missed,
      overlap: flags.overlap,
      until: flags.until?.at ?? null,
      until_after_ms: flags.until?.afterMs,
      jitter_ms: flags.jitter ?? 0,
    })
    const { schedule, changed, replaced } = result
    const what = !changed ? 'is set already' : replaced === null ? 'is set' : 'replaces the earlier one'
    const line = `schedule ${schedule.name} of ${schedule.path} ${what}; next slot: ${nextText(schedule)}`
    this.printObject(result, line)
  }
}
