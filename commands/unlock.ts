import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { SubstratError } from '../src/errors.js'
import { unlock } from '../src/operations/unlock.js'

export default class Unlock extends BaseCommand {
  static override summary = 'Break the locks that a dead process has left on a network file system.'
  static override description =
    'On a local file system a lock ends with its process, and there is nothing to break. Elsewhere only a person can know that its holder is dead, on whichever machine: substrat doctor shows such locks.'
  static override examples = ['<%= config.bin %> unlock notes', '<%= config.bin %> unlock --all']
  static override args = {
    agent: Args.string({ description: 'name, uuid or its beginning', ignoreStdin: true }),
  }
  static override flags = {
    all: Flags.boolean({ default: false, description: 'every lock of the home' }),
    force: Flags.boolean({
      default: false,
      description: 'also where the holder seems to live on another machine',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Unlock)
    if (flags.all === (args.agent !== undefined))
      throw new SubstratError('USAGE', 'unlock takes the name of an agent, or --all', {
        hint: 'substrat doctor',
      })
    const agentId = args.agent === undefined ? null : this.resolveForWrite(args.agent)
    const store = this.openForWrite()
    const unlocked = unlock(store, { caller: this.caller, agentId, isForced: flags.force })
    this.printObject(unlocked, unlocked.unlocked.join('\n') || 'no lock was left behind')
  }
}
