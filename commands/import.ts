import { resolve } from 'node:path'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { readStdinBytes } from '../src/command/input.js'
import { readUserBytes, tooLargeError } from '../src/files/user-files.js'
import { limits } from '../src/limits.js'

export default class Import extends BaseCommand {
  static override summary = 'Create copies of the agents in a bundle.'
  static override description =
    "A copy has a new UUID, and the conversation, attachments and settings of the original, but not its pending mail, waits, tokens and keys. An agent program's own session stays behind: the next turn begins a new one with the conversation. Repeating a command that was killed creates only the agents that are missing. Prints the UUID of each agent."
  static override examples = [
    '<%= config.bin %> import notes.bundle --name notes-2',
    'ssh laptop substrat export notes --bundle - | <%= config.bin %> import -',
  ]
  static override args = {
    file: Args.string({
      required: true,
      description: 'a bundle from substrat export --bundle, or - for stdin',
    }),
  }
  static override flags = {
    name: Flags.string({ char: 'n', description: 'name of the first agent; default: its own' }),
    workspace: Flags.string({
      char: 'w',
      description: "working directory of all agents; default: the originals'",
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Import)
    const max = limits.bundleBytesMax
    const bundle =
      args.file === '-'
        ? await readStdinBytes(max, () => tooLargeError('stdin', max))
        : readUserBytes(args.file, max)
    // Loaded only here: node:zlib takes time to load.
    const { importAgents } = await import('../src/operations/import.js')
    const imported = await importAgents(this.context(), {
      bundle,
      name: flags.name ?? null,
      workspace: flags.workspace === undefined ? null : resolve(flags.workspace),
    })
    this.printObject(imported, imported.agents.map(({ id }) => id).join('\n'))
  }
}
