import * as Args from '@oclif/core/args'
import { PluginCommand } from '../../src/command/plugin-command.js'
import { uninstallPlugin } from '../../src/operations/npm-plugins.js'

export default class PluginsUninstall extends PluginCommand {
  static override summary = 'Uninstall plugins, or stop using linked ones.'
  static override description =
    'Agents of its provider keep their conversations, and continue once it is installed again.'
  static override examples = ['<%= config.bin %> plugins uninstall substrat-provider-shout']
  static override strict = false
  static override args = {
    plugin: Args.string({
      description: 'name of the plugin, or its directory',
      required: true,
      ignoreStdin: true,
    }),
  }
  async run(): Promise<void> {
    const { argv } = await this.parse(PluginsUninstall)
    const words = argv as string[]
    for (const word of words) {
      const removed = await this.changing('uninstall a plugin', () => uninstallPlugin(this.places, word))
      this.printEach({ plugin: removed.name }, `${removed.name} is uninstalled`, words.length > 1)
    }
  }
}
