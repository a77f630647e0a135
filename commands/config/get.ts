import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../src/command/base.js'
import { checkKey } from '../../src/settings/settings.js'

export default class ConfigGet extends BaseCommand {
  static override summary = 'Print the effective value of a setting.'
  static override examples = [
    '<%= config.bin %> config get provider',
    '<%= config.bin %> config get openai.model',
  ]
  static override args = {
    key: Args.string({
      description: 'a key from substrat config list, PROVIDER.model or PROVIDER.OPTION',
      required: true,
      ignoreStdin: true,
    }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(ConfigGet)
    const found = await checkKey(args.key, this.providers)
    const setting =
      typeof found === 'string' ? this.settings.get(found) : this.settings.ofProvider(found, found.help)
    this.printObject(setting, setting.value ?? '')
  }
}
