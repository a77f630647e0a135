import { resolve } from 'node:path'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AskingCommand } from '../src/command/asking-command.js'
import {
  budget,
  context,
  drain,
  duration,
  messageFlags,
  onUnknown,
  optionsIn,
  rulesIn,
  stream,
  workspaceScope,
} from '../src/command/flags.js'
import { parseOptions, readMessage } from '../src/console/input.js'
import { spawn } from '../src/operations/spawn.js'

export default class Spawn extends AskingCommand {
  static override summary = 'Create an agent and, with a prompt, run its first turn.'
  static override description =
    "Without PROMPT it prints the new agent's UUID on stdout. With PROMPT it prints the reply on stdout and the UUID on stderr. Once the UUID is printed, the agent and its prompt are on disk. After a crash, recover or the next send runs the first turn."
  static override examples = [
    '<%= config.bin %> spawn --name notes --provider openai --model gpt-5.1',
    `<%= config.bin %> spawn 'Count the files here.' --provider exec --option command='claude -p'`,
    '$ git diff | <%= config.bin %> spawn "Review this change." - --name review',
  ]
  static override args = {
    prompt: Args.string({
      description: 'first message; - reads it from stdin; a final - appends stdin',
      ignoreStdin: true,
    }),
    dash: Args.string({ description: 'append stdin to PROMPT', ignoreStdin: true, hidden: true }),
  }
  static override flags = {
    name: Flags.string({
      char: 'n',
      description:
        'name, unique among the living agents with the same parent; default: no name (use the UUID)',
    }),
    parent: Flags.string({
      description: 'parent of the new agent; default: none, or the calling agent inside a tool call',
    }),
    provider: Flags.string({
      char: 'p',
      description:
        'provider to use (see substrat providers); default: that of its parent, with its model and options, or the provider setting',
    }),
    model: Flags.string({
      char: 'm',
      description: 'model, as the provider names it; default: the PROVIDER.model or the model setting',
    }),
    system: Flags.string({ char: 's', description: 'instructions (system prompt); default: none' }),
    workspace: Flags.string({ char: 'w', default: '.', description: 'working directory of the agent' }),
    'workspace-scope': workspaceScope({
      description:
        'in a home that several hosts share: which may run its turns; default: the scope of its parent, or the workspace_scope setting',
    }),
    option: Flags.string({
      char: 'o',
      multiple: true,
      multipleNonGreedy: true,
      description: 'set a provider option, as name=value; repeatable; default: the PROVIDER.OPTION setting',
    }),
    context: context({
      description:
        'how much of the earlier conversation a turn begins with: all, nothing (turn), or the last N turns (last:N); default: the context setting',
    }),
    'on-unknown': onUnknown({
      description:
        'a rule for calls of a tool whose result a crash lost: rerun, stop, continue, or check COMMAND; repeatable; comes before the on_unknown setting',
    }),
    budget: budget({
      description:
        'caps of the agent and everything below it: tokens, usd, turns, requests or time, per hour, day, week, month or in total; default: none',
    }),
    'if-exists': Flags.option({
      options: ['fail', 'use'] as const,
      default: 'fail',
      description: 'if a living agent has that name: fail with exit 13, or use that agent unchanged',
    })(),
    drain,
    ...messageFlags,
    timeout: duration({
      description: 'wait this long for a busy agent or a slot; default: the timeout setting',
    }),
    stream,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Spawn)
    const prompt =
      args.prompt === undefined ? null : await readMessage({ message: args.prompt, dash: args.dash })
    const parent = flags.parent === undefined ? this.caller : this.resolveForWrite(flags.parent)
    const ctx = this.context({
      waitMs: flags.timeout,
      isStream: flags.stream,
      printsReply: true,
      drains: flags.drain,
    })
    const request = {
      ...optionsIn(flags),
      name: flags.name ?? null,
      parent,
      provider: flags.provider ?? null,
      defaultProvider: this.settings.get('provider').value,
      model: flags.model ?? null,
      instructions: flags.system ?? null,
      workspace: resolve(flags.workspace),
      workspaceScope: flags['workspace-scope'],
      context: flags.context,
      onUnknown: rulesIn(flags['on-unknown']),
      budget: flags.budget,
      options: parseOptions(flags.option),
      prompt,
      ifExists: flags['if-exists'],
    }
    await this.untilDecided(ctx, (onOutcome) =>
      spawn(ctx, request, {
        onAgent: (agent) => {
          this.printAgentId(agent.id, prompt !== null)
        },
        onOutcome,
      }),
    )
  }
}
