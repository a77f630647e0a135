import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { runFace } from '../src/command/face.js'
import { refuseInTool } from '../src/dispatch/caller.js'
import { homeAccess } from '../src/settings/home-address.js'

export default class Acp extends BaseCommand {
  static override enableJsonFlag = false
  static override summary = 'Serve the agents to an editor, over the Agent Client Protocol.'
  static override description =
    'Editors start this command and speak with it on stdin and stdout. Each session is an agent, and its id is the id of the agent. Turns run in processes of their own and continue if the editor or this command is killed. The flags are for new agents.'
  static override examples = [
    '<%= config.bin %> acp --provider claude-code',
    '<%= config.bin %> acp --provider openai --model gpt-5.1 --allow read_file',
  ]
  static override flags = {
    provider: Flags.string({
      char: 'p',
      description: 'provider of new agents (see substrat providers); default: the provider setting',
    }),
    model: Flags.string({
      char: 'm',
      description: 'model of new agents; default: the PROVIDER.model or the model setting',
    }),
    system: Flags.string({
      char: 's',
      description: 'instructions (system prompt) of new agents; default: none',
    }),
    option: Flags.string({
      char: 'o',
      multiple: true,
      multipleNonGreedy: true,
      description: 'provider option of new agents, as name=value; repeatable',
    }),
    allow: Flags.string({
      helpValue: 'TOOLS',
      description: 'tools that new agents may run without approval; default: ask the editor',
    }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Acp)
    refuseInTool(this.caller, 'act for the operator')
    const { option = [], provider, model, system, allow } = flags
    const given = { provider, model, system, allow }
    await runFace('acp', {
      root: this.config.root,
      home: this.homeRoot,
      access: homeAccess(() => this.pluginFacts),
      version: this.config.version,
      spawn: [
        ...Object.entries(given).flatMap(([name, value]) =>
          value === undefined ? [] : [`--${name}=${value}`],
        ),
        ...option.map((words) => `--option=${words}`),
      ],
    })
  }
}
