import * as Flags from '@oclif/core/flags'
import { PluginCommand } from '../src/command/plugin-command.js'
import { table } from '../src/console/print/table.js'
import { listPlugins } from '../src/operations/list-plugins.js'

export default class Plugins extends PluginCommand {
  static override summary = 'List the installed plugins.'
  static override examples = ['<%= config.bin %> plugins', '<%= config.bin %> plugins --core']
  static override flags = {
    core: Flags.boolean({ description: 'also list the plugins that come with substrat' }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Plugins)
    const plugins = await listPlugins(this.places, flags.core)
    const none = 'no plugin is installed; those that come with substrat: substrat plugins --core'
    const lines = table(['NAME', 'BRINGS', 'FROM'], plugins, ({ name, version, from, brings, trouble }) => [
      version === null ? name : `${name} ${version}`,
      trouble ?? brings,
      from,
    ])
    this.printObject({ plugins }, plugins.length === 0 ? none : lines)
  }
}
