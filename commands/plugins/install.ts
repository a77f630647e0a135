import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { PluginCommand } from '../../src/command/plugin-command.js'
import { addOfficial } from '../../src/operations/add-plugin.js'
import { installPlugin } from '../../src/operations/npm-plugins.js'
import { officialPlugin } from '../../src/provider/official.js'

export default class PluginsInstall extends PluginCommand {
  static override summary = 'Install plugins with npm.'
  static override description =
    'Runs the npm in PATH. A package is a name, NAME@VERSION, the path of a directory or a tarball, or the address of a repository. Each plugin gets a directory of its own with its packages. Scripts of a package run as npm decides. If npm fails, the plugin is as before.'
  static override examples = [
    '<%= config.bin %> plugins install substrat-provider-shout',
    '<%= config.bin %> plugins install ./substrat-provider-shout-1.0.0.tgz',
  ]
  static override strict = false
  static override args = {
    package: Args.string({ description: 'package to install', required: true, ignoreStdin: true }),
  }
  static override flags = {
    force: Flags.boolean({ char: 'f', description: 'install it again if the same files are installed' }),
    verbose: Flags.boolean({ char: 'v', description: "show npm's messages" }),
  }

  async run(): Promise<void> {
    const { argv, flags } = await this.parse(PluginsInstall)
    const words = argv as string[]
    for (const word of words) {
      const added = await this.changing('install a plugin', () => this.install(word, flags))
      this.printAdded(added, this.verbOf(added), words.length > 1)
    }
  }

  private install(word: string, { force, verbose }: { force: boolean; verbose: boolean }) {
    const place = this.npmPlace(verbose)
    const official = officialPlugin(this.config.root, word)
    if (official?.name === word) return addOfficial(official, place)
    return installPlugin(place, word, force)
  }
}
