import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../../src/command/base.js'
import { refuseInTool } from '../../../src/dispatch/caller.js'
import { SubstratError } from '../../../src/errors.js'
import { revokeAllServeTokens, revokeServeToken } from '../../../src/operations/serve-tokens.js'

export default class ServeTokenRevoke extends BaseCommand {
  static override summary = 'Revoke a named token of the server.'
  static override description =
    'Running servers refuse its next request, and close its open streams within a second. Turns that it started continue. --all also replaces a list that is damaged or that other users could change.'
  static override examples = [
    '<%= config.bin %> serve token revoke phone',
    '<%= config.bin %> serve token revoke --all',
  ]
  static override args = {
    name: Args.string({ description: 'name of the token', ignoreStdin: true }),
  }
  static override flags = {
    all: Flags.boolean({ default: false, description: 'revoke every named token; default: only NAME' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(ServeTokenRevoke)
    refuseInTool(this.caller, 'revoke a token of the server')
    const { name } = args
    if ((name === undefined) !== flags.all)
      throw new SubstratError('USAGE', 'name one token, or give --all', {
        hint: 'list them: substrat serve token list',
      })
    const revoked =
      name === undefined
        ? await revokeAllServeTokens(this.homeRoot)
        : await revokeServeToken(this.homeRoot, name)
    const text = name === undefined ? `all named tokens are revoked: ${revoked.length}` : `${name} is revoked`
    this.printObject({ revoked }, text)
  }
}
