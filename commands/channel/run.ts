import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { WritingCommand } from '../../src/command/writing.js'
import { refuseInTool } from '../../src/dispatch/caller.js'
import { channelNamed } from '../../src/settings/channels.js'

export default class ChannelRun extends WritingCommand {
  static override summary = 'Connect the threads of a chat platform or mailbox to agents.'
  static override description =
    'Each thread has an agent, which is spawned when its first message comes. A message starts a turn, and the reply goes to the thread. Runs until it is stopped by a signal. After a crash, the next run continues: no message is lost, and none runs twice.'
  static override examples = [
    '<%= config.bin %> channel run telegram',
    '* * * * * <%= config.bin %> channel run mail --once',
  ]
  static override args = {
    name: Args.string({
      description: 'the name of the channel in the setting channels',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    once: Flags.boolean({
      default: false,
      description: 'receive what has come, answer it, and exit; for cron',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(ChannelRun)
    refuseInTool(this.caller, 'run a channel')
    const config = channelNamed(this.settings.channels(), args.name)
    const ctx = this.context({ sendsPending: true })
    const { startChannel } = await import('../../src/channel/start.js')
    const ran = await startChannel(ctx, {
      config,
      isOnce: flags.once,
      plugins: this.pluginFacts,
    })
    this.printObject(ran, `${args.name}: ${ran.received} received, ${ran.ignored} ignored`)
  }
}
