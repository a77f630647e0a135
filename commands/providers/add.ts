import { join } from 'node:path'
import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../src/command/base.js'
import { refuseInTool } from '../../src/dispatch/caller.js'
import { addProvider } from '../../src/operations/add-provider.js'
import { providerSource } from '../../src/provider/official.js'

export default class ProvidersAdd extends BaseCommand {
  static override summary = 'Install a provider, without npm and without a network.'
  static override description =
    'NAME is an official provider, which comes with substrat. A path is the directory or the npm tarball of a plugin. No script of the package runs. Killed and repeated, the command completes the installation.'
  static override examples = [
    '<%= config.bin %> providers add openai',
    '<%= config.bin %> providers add ./substrat-provider-shout-1.0.0.tgz',
  ]
  static override args = {
    source: Args.string({
      description: 'name of an official provider, or path of a directory or a tarball',
      required: true,
      ignoreStdin: true,
    }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(ProvidersAdd)
    refuseInTool(this.caller, 'install a provider')
    const { root, dataDir } = this.config
    const added = await addProvider(this.providers, {
      source: providerSource(root, args.source),
      listPath: join(dataDir, 'package.json'),
      copies: join(dataDir, 'providers'),
    })
    const { providers, plugin, version, changed } = added
    const names = providers.join(', ')
    const verb = changed ? 'is installed' : 'was installed already'
    this.printObject(
      added,
      `${names} ${verb} (${plugin} ${version}); next: substrat providers ${providers[0]}`,
    )
  }
}
