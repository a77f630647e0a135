import { BaseCommand } from '../../src/command/base.js'
import { terminalColumns } from '../../src/console/print/hanging.js'
import { settingsText } from '../../src/console/print/settings-text.js'

export default class ConfigList extends BaseCommand {
  static override summary = 'List every setting with its value, source, default and environment variable.'
  static override description =
    'The settings of a provider, such as openai.model, are listed if they have a value. substrat providers lists all of them.'
  static override examples = ['<%= config.bin %> config list']

  async run(): Promise<void> {
    await this.parse(ConfigList)
    const settings = await this.settings.list(this.providers)
    this.printObject({ settings }, settingsText(settings, terminalColumns()))
  }
}
