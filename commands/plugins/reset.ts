import { PluginCommand } from '../../src/command/plugin-command.js'
import { readPluginList } from '../../src/files/plugin-list.js'
import { uninstallPlugin } from '../../src/operations/npm-plugins.js'

export default class PluginsReset extends PluginCommand {
  static override summary = 'Uninstall all plugins.'
  static override examples = ['<%= config.bin %> plugins reset']

  async run(): Promise<void> {
    await this.parse(PluginsReset)
    const uninstalled = await this.changing('uninstall plugins', async () => {
      const names = readPluginList(this.pluginList).map(({ name }) => name)
      for (const name of names) await uninstallPlugin(this.places, name)
      return names
    })
    const lines = uninstalled.map((name) => `${name} is uninstalled`)
    this.printObject({ uninstalled }, lines.join('\n') || 'no plugin was installed')
  }
}
