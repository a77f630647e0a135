import { BaseCommand } from '../../src/command/base.js'
import { editConfig } from '../../src/console/config-edit.js'
import { refuseInTool } from '../../src/dispatch/caller.js'
import { configPath } from '../../src/settings/config-text.js'

export default class ConfigEdit extends BaseCommand {
  static override summary = "Open the home's config.json in $VISUAL or $EDITOR."
  static override description =
    'The editor gets a copy. A valid text replaces config.json; an invalid one is refused with its line, and the copy stays.'
  static override examples = ['<%= config.bin %> config edit', '$ EDITOR=nano <%= config.bin %> config edit']

  async run(): Promise<void> {
    await this.parse(ConfigEdit)
    refuseInTool(this.caller, 'change settings')
    const store = this.openForWrite()
    const path = configPath(store)
    const changed = await editConfig(store, this.providers)
    this.printObject({ path, changed }, changed ? `${path} is changed` : `${path} is unchanged`)
  }
}
