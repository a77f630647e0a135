import * as Args from '@oclif/core/args'
import { PluginCommand } from '../../src/command/plugin-command.js'
import { findPlugin } from '../../src/operations/list-plugins.js'

export default class PluginsInspect extends PluginCommand {
  static override summary = 'Show what a plugin brings, and where it is.'
  static override examples = ['<%= config.bin %> plugins inspect substrat-provider-shout']
  static override args = {
    plugin: Args.string({ description: 'name of the plugin', required: true, ignoreStdin: true }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(PluginsInspect)
    const found = await findPlugin(this.places, args.plugin)
    const { name, version, brings, from, trouble } = found
    const rows = [
      ['name', name],
      ['version', version ?? 'unknown'],
      ['brings', trouble ?? brings],
      ['from', from],
      ['directory', found.root],
    ]
    this.printObject(found, rows.map(([label = '', text]) => `${label.padEnd(11)}${text}`).join('\n'))
  }
}
