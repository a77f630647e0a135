import { BaseCommand } from '../../../src/command/base.js'
import { serveTokensText } from '../../../src/console/print/serve-tokens-text.js'
import { listServeTokens } from '../../../src/operations/serve-tokens.js'

export default class ServeTokenList extends BaseCommand {
  static override summary = 'List the named tokens of the server: their names, rights and ages.'
  static override description = 'Prints no token: the list has only their hashes.'
  static override examples = [
    '<%= config.bin %> serve token list',
    '<%= config.bin %> serve token list --json',
  ]

  async run(): Promise<void> {
    await this.parse(ServeTokenList)
    const tokens = listServeTokens(this.homeRoot)
    this.printObject({ tokens }, serveTokensText(tokens))
  }
}
