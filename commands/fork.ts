import { resolve } from 'node:path'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { parseOptions } from '../src/command/input.js'
import { fork } from '../src/operations/fork.js'

export default class Fork extends BaseCommand {
  static override summary = 'Go on with the conversation of an agent in another one.'
  static override description =
    'The new agent is told what was said so far, in words, so it may have another provider. The agent that it comes from stays as it is. Prints the uuid of the new one.'
  static override examples = [
    '<%= config.bin %> fork notes --provider codex --name notes-codex',
    '<%= config.bin %> fork notes --model larger',
  ]
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    name: Flags.string({ char: 'n', description: 'name of the new one; default: none' }),
    provider: Flags.string({ char: 'p', description: 'what thinks in it; default: the same' }),
    model: Flags.string({ char: 'm', description: 'its model; default: the same, with the same provider' }),
    workspace: Flags.string({ char: 'w', description: 'directory that it works in; default: the same' }),
    option: Flags.string({
      char: 'o',
      multiple: true,
      multipleNonGreedy: true,
      description: 'option of the provider, name=value; may be repeated',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Fork)
    const forked = await fork(this.context(), {
      agentId: this.resolveForWrite(args.agent),
      name: flags.name ?? null,
      provider: flags.provider ?? null,
      model: flags.model ?? null,
      workspace: flags.workspace === undefined ? null : resolve(flags.workspace),
      options: parseOptions(flags.option),
    })
    this.printObject(forked, forked.agent.id)
  }
}
