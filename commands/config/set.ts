import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../src/command/base.js'
import { checkSettingKey, Settings } from '../../src/command/settings.js'
import { refuseInTool } from '../../src/dispatch/caller.js'
import { writeUserFile } from '../../src/files/user-files.js'

export default class ConfigSet extends BaseCommand {
  static override summary = "Change a setting in the home's config.json."
  static override examples = [
    '<%= config.bin %> config set provider exec',
    '<%= config.bin %> config set slots_max 8',
  ]
  static override args = {
    key: Args.string({ description: 'a key from substrat config list', required: true, ignoreStdin: true }),
    value: Args.string({ description: 'the new value', required: true, ignoreStdin: true }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(ConfigSet)
    refuseInTool(this.caller, 'change settings')
    const key = checkSettingKey(args.key)
    const store = this.openForWrite()
    writeUserFile(store.label({ kind: 'config' }), Settings.textWith(store, key, args.value), 0o600)
    this.printObject(
      { key, value: args.value },
      `${key} is set to ${args.value} in ${store.label({ kind: 'config' })}`,
    )
  }
}
