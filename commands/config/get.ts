import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../src/command/base.js'
import { checkSettingKey } from '../../src/command/settings.js'

export default class ConfigGet extends BaseCommand {
  static override summary = 'Print the effective value of a setting.'
  static override examples = ['<%= config.bin %> config get provider']
  static override args = {
    key: Args.string({ description: 'a key from substrat config list', required: true, ignoreStdin: true }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(ConfigGet)
    const setting = this.settings.get(checkSettingKey(args.key))
    this.printObject(setting, setting.value ?? '')
  }
}
