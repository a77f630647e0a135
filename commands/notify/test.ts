import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../src/command/base.js'
import { testedText } from '../../src/console/print/outbox-text.js'
import { testTargets } from '../../src/operations/notify-test.js'

export default class NotifyTest extends BaseCommand {
  static override summary = 'Send a test event to the targets of the setting notify.'
  static override description =
    'Sends once, now, and prints the result of each target. Exits 13 if a target does not accept the event. Nothing is recorded.'
  static override examples = ['<%= config.bin %> notify test', '<%= config.bin %> notify test ops']
  static override args = {
    name: Args.string({ description: 'test only this target; default: all', ignoreStdin: true }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(NotifyTest)
    const homeId = this.openForRead()?.homeId ?? ''
    const { tested, failure } = await testTargets(this.settings.notifyTargets(), { name: args.name, homeId })
    this.printObject(tested, testedText(tested))
    if (failure !== undefined) this.fail(failure, false)
  }
}
