import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../../src/command/base.js'
import { stdout } from '../../../src/console/stdio.js'
import { refuseInTool } from '../../../src/dispatch/caller.js'
import { addServeToken, pageAddress } from '../../../src/operations/serve-tokens.js'
import { SCOPES, type Scope } from '../../../src/schema/words.js'

export default class ServeTokenAdd extends BaseCommand {
  static override summary = 'Make a named token for the server, with fewer rights than its own.'
  static override description =
    'With read, its holder sees everything. With answer, the holder also approves or denies calls as they are, and answers questions. With all, the holder does what the token of the server allows. Prints the token on stdout, once; at a terminal, also the link of the page. Running servers accept it at once. It is for the home of this command.'
  static override examples = [
    '<%= config.bin %> serve token add phone --may answer --url https://box.example.net',
    'TOKEN=$(<%= config.bin %> serve token add dashboard --may read)',
  ]
  static override args = {
    name: Args.string({
      description: 'name of the token, which the log has for its decisions',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    may: Flags.option({ options: SCOPES, required: true, description: 'the right of its holder' })(),
    url: Flags.string({
      helpValue: 'URL',
      description:
        'address of the server as the holder reaches it, for the link; default: http://127.0.0.1:4777',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(ServeTokenAdd)
    refuseInTool(this.caller, 'make a token of the server')
    const address = pageAddress(flags.url)
    const added = await addServeToken(this.homeRoot, args.name, flags.may as Scope)
    const link = `${address}/#token=${added.token}`
    this.printObject({ ...added, link }, added.token)
    // A link in a journal would be a token that others may read.
    if (flags.url !== undefined || stdout.isTTY) this.note(`open the page with it: ${link}`)
  }
}
