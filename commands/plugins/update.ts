import * as Flags from '@oclif/core/flags'
import { PluginCommand } from '../../src/command/plugin-command.js'
import { updatePlugins } from '../../src/operations/npm-plugins.js'

export default class PluginsUpdate extends PluginCommand {
  static override summary = 'Update the plugins that npm installed.'
  static override examples = ['<%= config.bin %> plugins update']
  static override flags = {
    verbose: Flags.boolean({ char: 'v', description: "show npm's messages" }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(PluginsUpdate)
    const place = this.npmPlace(flags.verbose)
    const { updated, failure } = await this.changing('update plugins', () => updatePlugins(place))
    const lines = updated.map(({ plugin, version }) => `${plugin} is now ${version}`)
    if (failure === undefined || updated.length > 0)
      this.printObject({ updated }, lines.join('\n') || 'nothing to update')
    if (failure !== undefined) this.fail(failure, updated.length === 0)
  }
}
