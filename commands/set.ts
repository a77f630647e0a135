import { resolve } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { agent, allow, duration } from '../src/command/flags.js'
import { parseOptions } from '../src/command/input.js'
import { configure } from '../src/operations/configure.js'

export default class SetCommand extends BaseCommand {
  static override summary = "Change an agent's settings from its next turn on."
  static override examples = [`<%= config.bin %> set notes --model large --system 'Be brief.'`]
  static override args = {
    agent,
  }
  static override flags = {
    model: Flags.string({ char: 'm', description: "model; empty: the provider's default" }),
    system: Flags.string({ char: 's', description: 'instructions (system prompt); empty: none' }),
    workspace: Flags.string({ char: 'w', description: 'working directory of the agent' }),
    option: Flags.string({
      char: 'o',
      multiple: true,
      multipleNonGreedy: true,
      description: 'set a provider option, as name=value; repeatable',
    }),
    allow: allow({ description: 'tools that run without approval; empty: none' }),
    title: Flags.string({ description: 'title shown to people; empty: none' }),
    timeout: duration({ description: 'how long to wait for a busy agent; default: setting timeout' }),
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
    this.printObject({ agent }, `${agent.path} is changed; the change takes effect in its next turn`)
  }
}
