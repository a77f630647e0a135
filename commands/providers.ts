import * as Args from '@oclif/core/args'
import { BaseCommand } from '../src/command/base.js'
import { terminalColumns } from '../src/console/print/hanging.js'
import { providersText } from '../src/console/print/providers-text.js'
import { listProviders } from '../src/provider/listing.js'

export default class Providers extends BaseCommand {
  static override summary = 'List the providers with their options, defaults and keys.'
  static override examples = ['<%= config.bin %> providers', '<%= config.bin %> providers exec --json']
  static override args = {
    provider: Args.string({ description: 'list only this provider', ignoreStdin: true }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(Providers)
    const registry = this.providers
    if (args.provider !== undefined) registry.checkName(args.provider)
    const isListed = (name: string): boolean => args.provider === undefined || name === args.provider
    const providers = await listProviders(registry, isListed)
    const width = terminalColumns() ?? Number.POSITIVE_INFINITY
    const text = providersText(providers, width, (variable) => Boolean(process.env[variable]))
    this.printObject({ providers, available: [] }, text)
  }
}
