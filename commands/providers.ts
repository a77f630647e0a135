import { BaseCommand } from '../src/command/base.js'
import { table } from '../src/command/print/table.js'
import { listProviders } from '../src/provider/listing.js'

export default class Providers extends BaseCommand {
  static override summary = 'List the built-in providers and those of installed plugins.'
  static override examples = ['<%= config.bin %> providers', '<%= config.bin %> providers --json']

  async run(): Promise<void> {
    await this.parse(Providers)
    const providers = await listProviders(this.providers)
    const text = table(['NAME', 'KIND', 'FROM', 'DESCRIPTION'], providers, (provider) => {
      const { name, kind, plugin, version, description } = provider
      return [name, kind, version === null ? plugin : `${plugin} ${version}`, description]
    })
    this.printObject({ providers }, text)
  }
}
