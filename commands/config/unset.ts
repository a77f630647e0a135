import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../src/command/base.js'
import { refuseInTool } from '../../src/dispatch/caller.js'
import { changeConfig } from '../../src/operations/change-config.js'
import { configPath, hasKey, textWith } from '../../src/settings/config-text.js'
import { checkKey } from '../../src/settings/settings.js'

export default class ConfigUnset extends BaseCommand {
  static override summary = "Remove a setting from the home's config.json, so that its default applies."
  static override examples = ['<%= config.bin %> config unset openai.model']
  static override args = {
    key: Args.string({
      description: 'a key from substrat config list, or one that config.json has by mistake',
      required: true,
      ignoreStdin: true,
    }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(ConfigUnset)
    const { key } = args
    refuseInTool(this.caller, 'change settings')
    const store = this.openForRead()
    // The file may have a key of a provider that is no longer installed.
    if (store === undefined || !hasKey(store, key)) {
      await checkKey(key, this.providers)
      return this.printObject({ key, unset: false }, `${key} is not set`)
    }
    await changeConfig(store, 'substrat config unset', () => textWith(store, key, undefined))
    this.printObject({ key, unset: true }, `${key} is removed from ${configPath(store)}`)
  }
}
