import { BaseCommand } from '../../src/command/base.js'
import { table } from '../../src/command/print/table.js'
import { SETTING_KEYS } from '../../src/command/settings.js'

export default class ConfigList extends BaseCommand {
  static override summary = 'List every setting with its value, source, default and environment variable.'
  static override examples = ['<%= config.bin %> config list']

  async run(): Promise<void> {
    await this.parse(ConfigList)
    const settings = SETTING_KEYS.map((key) => this.settings.get(key))
    const head = ['KEY', 'VALUE', 'FROM', 'DEFAULT', 'VARIABLE', 'DESCRIPTION']
    const text = table(head, settings, (setting) => {
      const { key, value, source, env, help } = setting
      return [key, value ?? '-', source, setting.default ?? '-', env, help]
    })
    this.printObject({ settings }, text)
  }
}
