import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { duration } from '../src/command/flags.js'
import { parseOptions } from '../src/console/input.js'
import { oneLine } from '../src/console/output.js'
import { table } from '../src/console/print/table.js'
import { listModels } from '../src/operations/list-models.js'
import { noProviderError } from '../src/operations/spawn.js'

export default class Models extends BaseCommand {
  static override summary = 'List the models of a provider.'
  static override description =
    'Asks the API of openai or anthropic, or the program of claude-code, codex or opencode, with the settings of a new agent. Other providers may have no list (exit 8).'
  static override examples = [
    '<%= config.bin %> models openai',
    '<%= config.bin %> models codex',
    '<%= config.bin %> models openai --option base_url=http://127.0.0.1:11434/v1',
  ]
  static override args = {
    provider: Args.string({
      description: 'a provider of substrat providers; default: the provider setting',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    option: Flags.string({
      char: 'o',
      multiple: true,
      multipleNonGreedy: true,
      description: 'set a provider option, as name=value; repeatable; default: the PROVIDER.OPTION setting',
    }),
    timeout: duration({ description: 'wait this long for the list; default: 30s' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Models)
    const provider = args.provider ?? this.settings.get('provider').value
    if (provider === null) throw noProviderError('substrat models NAME')
    const list = await listModels(this.providers, {
      provider,
      options: parseOptions(flags.option),
      workspace: process.cwd(),
      timeoutMs: flags.timeout ?? 30_000,
    })
    const head = ['MODEL', 'DESCRIPTION']
    const text = table(head, list.models, ({ id, description }) => [oneLine(id), oneLine(description ?? '')])
    this.printObject(list, text)
  }
}
