import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { SubstratError } from '../src/errors.js'
import { Checker, type CheckListener, checkableAgents } from '../src/operations/check.js'
import { noProviderError } from '../src/operations/spawn.js'

export default class Check extends BaseCommand {
  static override strict = false
  static override summary = 'Ask providers whether a turn could begin now.'
  static override description =
    'Looks for the API key, the program and its login, as far as each provider can tell. It changes nothing, asks no service and spends nothing. Without an agent, it checks the provider of new agents. Cron and systemd have another environment than your terminal, so run it there too. Prints one line per agent. Exits with the first nonzero status among those lines, otherwise with 0.'
  static override examples = [
    '<%= config.bin %> check --all',
    '<%= config.bin %> check night',
    'env -i HOME="$HOME" PATH="$PATH" <%= config.bin %> check night',
  ]
  static override args = {
    agent: Args.string({
      description: 'agent names, paths (parent/child), UUIDs or UUID prefixes',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    all: Flags.boolean({ default: false, description: 'check every agent that is not terminated' }),
  }

  async run(): Promise<void> {
    const { argv, flags } = await this.parse(Check)
    const words = argv as string[]
    if (flags.all && words.length > 0)
      throw new SubstratError('USAGE', 'check needs either agents or --all', { hint: 'substrat check --all' })
    const trouble = this.settingsTrouble()
    if (trouble !== undefined) {
      // A message to any agent would fail because of it, and this first failure gives the exit status.
      process.exitCode ??= trouble.exitStatus
      this.note(trouble.hint === undefined ? trouble.message : `${trouble.message} (${trouble.hint})`)
    }
    const checker = new Checker(this.providers)
    const listener: CheckListener = (checked, failure, text) => {
      if (this.jsonEnabled()) this.printJsonLine(checked)
      else if (failure === undefined) this.print(text)
      if (failure === undefined) return
      process.exitCode ??= failure.exitStatus
      this.note(failure.hint === undefined ? text : `${text} (${failure.hint})`)
    }
    if (!flags.all && words.length === 0) return this.checkNew(checker, listener)
    const ids = words.map((word) => this.resolveForRead(word).agentId)
    const store = this.openForRead()
    // Without a home no agent exists.
    if (store === undefined) return
    await checker.checkAgents(store, flags.all ? checkableAgents(store) : [...new Set(ids)], listener)
  }

  private checkNew(checker: Checker, listener: CheckListener): Promise<void> {
    const provider = this.settings.get('provider').value
    if (provider === null) throw noProviderError('substrat check AGENT')
    return checker.checkProvider(provider, process.cwd(), listener)
  }
}
