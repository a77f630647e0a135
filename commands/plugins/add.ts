import * as Args from '@oclif/core/args'
import { PluginCommand } from '../../src/command/plugin-command.js'
import { addFromSource } from '../../src/operations/plugin-source.js'

export default class PluginsAdd extends PluginCommand {
  static override summary = 'Install a plugin: from a directory or a tarball, or by its name with npm.'
  static override description =
    'A package without dependencies is copied, without npm and without a network, and no script of it runs. Any other is installed by npm. Official plugins come with substrat and need no installation. Killed and repeated, the command completes the installation.'
  static override examples = [
    '<%= config.bin %> plugins add ./substrat-provider-shout-1.0.0.tgz',
    '<%= config.bin %> plugins add substrat-provider-shout',
  ]
  static override args = {
    source: Args.string({
      description: 'path of a directory or a tarball, or name of a package',
      required: true,
      ignoreStdin: true,
    }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(PluginsAdd)
    const added = await this.changing('install a plugin', () =>
      addFromSource(this.npmPlace(false), args.source),
    )
    this.printAdded(added, this.verbOf(added))
  }
}
