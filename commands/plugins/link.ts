import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { PluginCommand } from '../../src/command/plugin-command.js'
import { isThere } from '../../src/files/user-files.js'
import { linkPlugin } from '../../src/operations/npm-plugins.js'

export default class PluginsLink extends PluginCommand {
  static override summary = 'Use the plugin in a directory, which stays there, while you write it.'
  static override examples = ['<%= config.bin %> plugins link ./substrat-provider-shout']
  static override args = {
    path: Args.string({ description: 'directory of the plugin', default: '.', ignoreStdin: true }),
  }
  static override flags = {
    install: Flags.boolean({
      allowNo: true,
      default: true,
      description: 'first have npm install its packages, if it has a package-lock.json',
    }),
    verbose: Flags.boolean({ char: 'v', description: "show npm's messages" }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(PluginsLink)
    const added = await this.changing('link a plugin', () =>
      linkPlugin(this.npmPlace(flags.verbose), { path: args.path, installs: flags.install }),
    )
    if (added.hasDependencies && !isThere(`${added.root}/node_modules`))
      this.note(`${added.plugin} needs other packages; install them: cd ${added.root} && npm install`)
    this.printAdded(added, added.changed ? 'is linked' : 'was linked already')
  }
}
