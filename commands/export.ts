import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { agent } from '../src/command/flags.js'
import { toMarkdown } from '../src/command/print/markdown.js'
import { writeUserFile } from '../src/files/user-files.js'
import { exportConversation } from '../src/operations/export.js'

export default class Export extends BaseCommand {
  static override summary = 'Write the conversation of an agent as Markdown, or as JSON with --json.'
  static override examples = [
    '<%= config.bin %> export notes -o notes.md',
    '<%= config.bin %> export notes --json',
  ]
  static override args = {
    agent,
  }
  static override flags = {
    output: Flags.string({ char: 'o', description: 'write to this file and replace it; default: stdout' }),
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
