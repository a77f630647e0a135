import { resolve } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { agent } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { parseOptions } from '../src/console/input.js'
import { fork } from '../src/operations/fork.js'

export default class Fork extends WritingCommand {
  static override summary = "Copy an agent's conversation into a new agent."
  static override description =
    "The new agent receives the conversation as text, so it can use another provider. With the same model provider, it receives all messages, including tool calls, results and reasoning. The original agent does not change. Prints the new agent's UUID."
  static override examples = [
    '<%= config.bin %> fork notes --provider codex --name notes-codex',
    '<%= config.bin %> fork notes --model gpt-5.1',
    '<%= config.bin %> fork notes --at 3 --name notes-again',
  ]
  static override args = {
    agent,
  }
  static override flags = {
    name: Flags.string({ char: 'n', description: 'name of the new agent; default: none' }),
    provider: Flags.string({ char: 'p', description: "provider of the new agent; default: the original's" }),
    model: Flags.string({
      char: 'm',
      description: "model of the new agent; default: the original's, or the new provider's default",
    }),
    workspace: Flags.string({
      char: 'w',
      description: "working directory of the new agent; default: the original's",
    }),
    at: Flags.string({
      description:
        'end the copy before your message, or after a reply or turn, by its id or number (1: first turn, -1: latest); default: all',
    }),
    option: Flags.string({
      char: 'o',
      multiple: true,
      multipleNonGreedy: true,
      description: 'set a provider option, as name=value; repeatable',
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
      at: flags.at,
    })
    this.printObject(forked, forked.agent.id)
  }
}
