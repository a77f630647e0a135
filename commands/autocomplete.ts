import * as Args from '@oclif/core/args'
import { BaseCommand } from '../src/command/base.js'
import { SCRIPTS, SHELLS, type Shell } from '../src/command/completion/scripts.js'
import { SubstratError } from '../src/errors.js'

export default class Autocomplete extends BaseCommand {
  static override enableJsonFlag = false
  static override summary = 'Print the completion script for your shell.'
  static override description =
    'Completes commands, flags and their values, agents, models, tools and settings. Models are those of your agents; if none has one, the provider is asked. The first line of the script says how to install it.'
  static override examples = [
    '$ eval "$(<%= config.bin %> autocomplete bash)"',
    '<%= config.bin %> autocomplete fish | source',
  ]
  static override args = {
    shell: Args.string({ options: [...SHELLS], description: 'default: your login shell', ignoreStdin: true }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(Autocomplete)
    const shell = args.shell ?? process.env.SHELL?.split('/').at(-1) ?? ''
    if (!Object.hasOwn(SCRIPTS, shell))
      throw new SubstratError(
        'USAGE',
        `there is no completion script for the shell ${JSON.stringify(shell)}`,
        {
          hint: `name one of ${SHELLS.join(', ')}: substrat autocomplete bash`,
        },
      )
    this.print(SCRIPTS[shell as Shell].trimEnd())
  }
}
