import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../src/command/base.js'
import { refuseInTool } from '../../src/dispatch/caller.js'
import { changeConfig } from '../../src/operations/change-config.js'
import { checkAllowSetting } from '../../src/operations/check-allow-setting.js'
import { checkValue, configPath, textWith } from '../../src/settings/config-text.js'
import { checkKey, Settings } from '../../src/settings/settings.js'

export default class ConfigSet extends BaseCommand {
  static override summary = "Change a setting in the home's config.json."
  static override examples = [
    '<%= config.bin %> config set provider openai',
    '<%= config.bin %> config set openai.model gpt-5.1',
    '<%= config.bin %> config set slots_max 8',
  ]
  static override args = {
    key: Args.string({
      description: 'a key from substrat config list, PROVIDER.model or PROVIDER.OPTION',
      required: true,
      ignoreStdin: true,
    }),
    value: Args.string({ description: 'the new value', required: true, ignoreStdin: true }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(ConfigSet)
    const { key, value } = args
    refuseInTool(this.caller, 'change settings')
    await checkKey(key, this.providers)
    if (key === 'provider') this.providers.checkName(value)
    const store = this.openForWrite()
    if (key === 'allow') {
      checkValue(key, value, 'the value')
      // The file may be invalid: this is how a user corrects it.
      const settings = Settings.readLeniently(store, () => undefined)
      const note = await checkAllowSetting(store, this.providers, settings.allowSetting(value))
      if (note !== undefined) this.note(note)
    }
    await changeConfig(store, 'substrat config set', () => textWith(store, key, value))
    this.printObject({ key, value }, `${key} is set to ${value} in ${configPath(store)}`)
  }
}
