import { resolve } from 'node:path'
import * as Flags from '@oclif/core/flags'
import {
  agent,
  allow,
  budget,
  context,
  duration,
  onUnknown,
  rulesIn,
  workspaceScope,
} from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { parseOptions } from '../src/console/input.js'
import { configure } from '../src/operations/configure.js'

export default class SetCommand extends WritingCommand {
  static override summary = "Change an agent's settings, effective from its next turn."
  static override examples = [`<%= config.bin %> set notes --model gpt-5.1 --system 'Be brief.'`]
  static override args = {
    agent,
  }
  static override flags = {
    model: Flags.string({
      char: 'm',
      description: 'change the model; an empty value selects the default of a new agent',
    }),
    system: Flags.string({
      char: 's',
      description: 'change the instructions (system prompt); an empty value removes them',
    }),
    workspace: Flags.string({ char: 'w', description: 'working directory of the agent' }),
    here: Flags.boolean({
      description: 'in a home that several hosts share: its workspace is on this host from now on',
    }),
    'workspace-scope': workspaceScope({
      description: 'in a home that several hosts share: change which hosts may run its turns',
    }),
    option: Flags.string({
      char: 'o',
      multiple: true,
      multipleNonGreedy: true,
      description: 'set a provider option, as name=value; repeatable',
    }),
    allow: allow({ description: 'change the tools that run without approval; an empty value removes them' }),
    disallow: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      description: 'take back one entry of --allow, as show prints it; repeatable',
      exclusive: ['allow'],
    }),
    'on-unknown': onUnknown({
      description:
        'replace the rules for calls whose result a crash lost: rerun, stop, continue, or check COMMAND; repeatable; an empty value removes them',
    }),
    context: context({
      description:
        'change how much of the earlier conversation a turn begins with: all, nothing (turn), or the last N turns (last:N)',
    }),
    budget: budget({
      description:
        'change the caps of the agent and everything below it: UNIT=NUMBER[/PERIOD], as in tokens=2M/day,usd=5; an empty value removes them',
    }),
    title: Flags.string({
      description: 'change the title that list and show print; an empty value removes it',
    }),
    timeout: duration({
      description: 'wait this long for a busy agent; default: the timeout setting',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(SetCommand)
    const agentId = this.resolveForWrite(args.agent)
    const changes = {
      ...(flags.model === undefined ? {} : { model: flags.model || null }),
      ...(flags.system === undefined ? {} : { instructions: flags.system || null }),
      ...(flags.allow === undefined ? {} : { allow: flags.allow }),
      ...(flags['on-unknown'] === undefined ? {} : { on_unknown: rulesIn(flags['on-unknown']) }),
      ...(flags.context === undefined ? {} : { context: flags.context }),
      ...(flags.budget === undefined ? {} : { budget: flags.budget }),
      ...(flags.title === undefined ? {} : { title: flags.title || null }),
      ...(flags.workspace === undefined ? {} : { workspace: resolve(flags.workspace) }),
      ...(flags['workspace-scope'] === undefined ? {} : { workspace_scope: flags['workspace-scope'] }),
      ...(flags.option === undefined ? {} : { options: parseOptions(flags.option) }),
    }
    const others = { isHere: flags.here, disallow: flags.disallow ?? [] }
    const agent = await configure(this.context({ waitMs: flags.timeout }), agentId, changes, others)
    this.printObject({ agent }, `${agent.path} is changed; the change takes effect in its next turn`)
  }
}
