import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { SubstratError } from '../src/errors.js'
import { unlock } from '../src/operations/unlock.js'

export default class Unlock extends BaseCommand {
  static override summary = 'Remove locks that a dead process left on a network file system.'
  static override description =
    'On a local file system the kernel releases a lock when its process ends. On a network file system a lock can outlive its process. First make sure that no machine still runs that process. substrat doctor lists these locks.'
  static override examples = ['<%= config.bin %> unlock notes', '<%= config.bin %> unlock --all']
  static override args = {
    agent: Args.string({
      description: 'agent name, path (parent/child), UUID or UUID prefix',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    all: Flags.boolean({
      default: false,
      description: 'remove every lock in the home; default: only the lock of AGENT',
    }),
    force: Flags.boolean({
      default: false,
      description: 'also remove a lock whose holder seems alive on another machine',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Unlock)
    if (flags.all === (args.agent !== undefined))
      throw new SubstratError('USAGE', 'name either an agent or --all', {
        hint: 'list stale locks: substrat doctor',
      })
    const agentId = args.agent === undefined ? null : this.resolveForWrite(args.agent)
    const store = this.openForWrite()
    const unlocked = unlock(store, { caller: this.caller, agentId, isForced: flags.force })
    this.printObject(unlocked, unlocked.unlocked.join('\n') || 'no stale lock found')
  }
}
