import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { toMarkdown } from '../src/command/print/markdown.js'
import { writeUserFile } from '../src/files/user-files.js'
import { exportConversation } from '../src/operations/export.js'

export default class Export extends BaseCommand {
  static override summary = 'Write the conversation as Markdown; with --json as an object.'
  static override examples = [
    '<%= config.bin %> export notes -o notes.md',
    '<%= config.bin %> export notes --json',
  ]
  static override args = {
    agent: Args.string({
      description: 'name, path, uuid or its beginning',
      required: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    output: Flags.string({ char: 'o', description: 'file to write instead of stdout' }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Export)
    const { store, agentId } = this.resolveForRead(args.agent)
    const conversation = exportConversation(store, agentId)
    if (flags.output === undefined) return this.printObject(conversation, toMarkdown(conversation).trimEnd())
    const text = this.jsonEnabled() ? `${JSON.stringify(conversation, null, 2)}\n` : toMarkdown(conversation)
    writeUserFile(flags.output, text)
    this.printObject(
      { output: flags.output, messages: conversation.messages.length },
      `wrote ${conversation.messages.length} messages to ${flags.output}`,
    )
  }
}
