import { resolve } from 'node:path'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { WritingCommand } from '../src/command/writing.js'
import { confirmImport } from '../src/console/foreign-agents.js'
import { readStdinBytes } from '../src/console/input.js'
import { readUserBytes, tooLargeError } from '../src/files/user-files.js'
import { limits } from '../src/limits.js'

export default class Import extends WritingCommand {
  static override summary = 'Create copies of the agents in a bundle, or take in agents that move.'
  static override description =
    "A copy has a new UUID, and the conversation, attachments and settings of the original, but not its pending mail, waits, tokens and keys. An agent program's own session stays behind: the next turn begins a new one with the conversation. Repeating a command that was killed creates only the agents that are missing. Agents of export --move keep their UUIDs, and bring all of it along. A bundle that this home did not make is imported after a question at the terminal, or with --trust. Prints the UUID of each agent."
  static override examples = [
    '<%= config.bin %> import notes.bundle --name notes-2',
    '<%= config.bin %> import --reclaim notes',
    'ssh laptop substrat export notes --bundle - | <%= config.bin %> import - --trust',
  ]
  static override args = {
    file: Args.string({
      required: true,
      description: 'a bundle from substrat export --bundle, or - for stdin; with --reclaim also an agent',
    }),
  }
  static override flags = {
    name: Flags.string({ char: 'n', description: 'name of the first agent; default: its own' }),
    workspace: Flags.string({
      char: 'w',
      description: "working directory of all agents; default: the originals'",
    }),
    reclaim: Flags.boolean({
      description: 'take back agents that export --move has closed in this home',
      exclusive: ['name', 'workspace', 'hold', 'if-exists'],
    }),
    hold: Flags.boolean({
      description: 'store agents that move, but leave them closed until the same import without --hold',
    }),
    trust: Flags.boolean({
      description:
        'import agents of another home without a question: they keep what they may run, such as --allow and the command of exec',
    }),
    'if-exists': Flags.string({
      options: ['fail', 'use'],
      default: 'fail',
      description: 'if this move was already imported: exit 13, or print its agents; default: fail',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Import)
    if (flags.reclaim) {
      const { reclaim } = await import('../src/operations/reclaim.js')
      const back = await reclaim(this.context(), args.file)
      return this.printObject(back, back.agents.map(({ id }) => id).join('\n'))
    }
    const max = limits.bundleBytesMax
    const bundle =
      args.file === '-'
        ? await readStdinBytes(max, () => tooLargeError('stdin', max))
        : readUserBytes(args.file, max)
    // Loaded only here: node:zlib takes time to load.
    const { importAgents } = await import('../src/operations/transfer/import.js')
    const imported = await importAgents(this.context(), {
      bundle,
      name: flags.name ?? null,
      workspace: flags.workspace === undefined ? null : resolve(flags.workspace),
      isHeld: flags.hold,
      ...(flags.trust ? {} : { confirm: (agents) => confirmImport(args.file, agents) }),
      usesExisting: flags['if-exists'] === 'use',
    })
    this.printObject(imported, imported.agents.map(({ id }) => id).join('\n'))
  }
}
