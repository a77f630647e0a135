import { resolve } from 'node:path'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { allow, duration } from '../src/command/flags.js'
import { parseOptions } from '../src/command/input.js'
import { configure } from '../src/operations/configure.js'

export default class SetCommand extends BaseCommand {
  static override summary = 'Change an agent; from its next turn on.'
  static override examples = [`<%= config.bin %> set notes --model large --system 'Be brief.'`]
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    model: Flags.string({ char: 'm', description: 'model; empty for the default of the provider' }),
    system: Flags.string({ char: 's', description: 'instructions (system prompt); empty for none' }),
    workspace: Flags.string({ char: 'w', description: 'directory that the agent works in' }),
    option: Flags.string({
      char: 'o',
      multiple: true,
      multipleNonGreedy: true,
      description: 'option of the provider, name=value; may be repeated',
    }),
    allow: allow({ description: 'tools that may change things without being asked about; empty for none' }),
    title: Flags.string({ description: 'a line for people; empty for none' }),
    timeout: duration({ description: 'how long a busy agent is waited for; default: the setting' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(SetCommand)
    const agentId = this.resolveForWrite(args.agent)
    const changes = {
      ...(flags.model === undefined ? {} : { model: flags.model || null }),
      ...(flags.system === undefined ? {} : { instructions: flags.system || null }),
      ...(flags.allow === undefined ? {} : { allow: flags.allow }),
      ...(flags.title === undefined ? {} : { title: flags.title || null }),
      ...(flags.workspace === undefined ? {} : { workspace: resolve(flags.workspace) }),
      ...(flags.option === undefined ? {} : { options: parseOptions(flags.option) }),
    }
    const agent = await configure(this.context({ waitMs: flags.timeout }), agentId, changes)
    this.printObject({ agent }, `${agent.path} is changed, from its next turn on`)
  }
}
