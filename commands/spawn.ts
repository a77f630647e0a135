import { resolve } from 'node:path'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { allow, drain, duration } from '../src/command/flags.js'
import { parseOptions, readMessage } from '../src/command/input.js'
import { spawn } from '../src/operations/spawn.js'

export default class Spawn extends BaseCommand {
  static override summary = 'Start an agent; with a prompt, run its first turn.'
  static override description =
    "Prints the new agent's uuid alone on stdout. With PROMPT it prints the reply there, and the uuid on stderr. Once the uuid is printed the agent is on disk, and its first turn happens whatever dies."
  static override examples = [
    '<%= config.bin %> spawn --name notes',
    `<%= config.bin %> spawn 'Count the files here.' --provider exec --option command='claude -p'`,
    'git diff | <%= config.bin %> spawn "Review this change." - --name review',
  ]
  static override args = {
    prompt: Args.string({ description: 'the first message; - reads it from stdin', ignoreStdin: true }),
    dash: Args.string({ description: '- appends stdin to PROMPT', ignoreStdin: true, hidden: true }),
  }
  static override flags = {
    name: Flags.string({
      char: 'n',
      description: 'name, unique among living siblings; default: none, the uuid stands for it',
    }),
    parent: Flags.string({
      description: 'the agent that it is born below; default: none, and in a tool of an agent that agent',
    }),
    provider: Flags.string({
      char: 'p',
      description: 'what thinks (substrat providers); default: the setting',
    }),
    model: Flags.string({ char: 'm', description: 'model, as its provider names it; default: the setting' }),
    system: Flags.string({ char: 's', description: 'instructions (system prompt)' }),
    workspace: Flags.string({ char: 'w', default: '.', description: 'directory that the agent works in' }),
    option: Flags.string({
      char: 'o',
      multiple: true,
      multipleNonGreedy: true,
      description: 'option of the provider, name=value; may be repeated',
    }),
    'if-exists': Flags.option({
      options: ['fail', 'use'] as const,
      default: 'fail',
      description: 'when an agent of that name lives: refuse, or use it as it is',
    })(),
    drain,
    allow: allow(),
    timeout: duration({
      description: 'how long a slot, or a busy agent, is waited for; default: the setting',
    }),
    'turn-timeout': duration({ description: 'wall clock of the turn; default: the setting' }),
    stream: Flags.boolean({
      description: 'one JSON line per record, live text marked partial',
      exclusive: ['json'],
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Spawn)
    const prompt =
      args.prompt === undefined ? null : await readMessage({ message: args.prompt, dash: args.dash })
    const parent = flags.parent === undefined ? this.caller : this.resolveForWrite(flags.parent)
    const ctx = this.context({ waitMs: flags.timeout, isStream: flags.stream, drains: flags.drain })
    const request = {
      name: flags.name ?? null,
      parent,
      provider: flags.provider ?? (this.settings.text('provider') as string),
      model: flags.model ?? this.settings.text('model'),
      instructions: flags.system ?? null,
      workspace: resolve(flags.workspace),
      options: parseOptions(flags.option),
      prompt,
      turnTimeoutMs: flags['turn-timeout'] ?? null,
      allow: flags.allow ?? [],
      ifExists: flags['if-exists'],
    }
    await spawn(ctx, request, {
      onAgent: (agent) => {
        if (flags.provider === undefined) this.noteDefaultProvider(agent.provider_name)
        this.printAgentId(agent.id, prompt !== null)
      },
      onOutcome: (outcome) => this.report(outcome),
    })
  }
}
