import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { agent } from '../src/command/flags.js'
import { toMarkdown } from '../src/command/print/markdown.js'
import { writeUserFile } from '../src/files/user-files.js'
import { exportConversation } from '../src/operations/export.js'
import type { Store } from '../src/storage/store.js'

export default class Export extends BaseCommand {
  static override summary = 'Write the conversation of an agent as Markdown, or a bundle for another home.'
  static override examples = [
    '<%= config.bin %> export notes -o notes.md',
    '<%= config.bin %> export notes --json',
    '<%= config.bin %> export notes --bundle notes.bundle --tree',
  ]
  static override args = {
    agent,
  }
  static override flags = {
    output: Flags.string({
      char: 'o',
      description: 'write to this file and replace it; default: stdout',
      exclusive: ['bundle'],
    }),
    bundle: Flags.string({
      description: 'write a bundle for substrat import to this file; - for stdout',
      helpValue: 'FILE',
    }),
    tree: Flags.boolean({ description: 'with all living agents below it', dependsOn: ['bundle'] }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Export)
    const { store, agentId } = this.resolveForRead(args.agent)
    if (flags.bundle !== undefined) return this.writeBundle(store, agentId, flags.bundle, flags.tree)
    const conversation = exportConversation(store, agentId)
    if (flags.output === undefined) return this.printObject(conversation, toMarkdown(conversation).trimEnd())
    const text = this.jsonEnabled() ? `${JSON.stringify(conversation, null, 2)}\n` : toMarkdown(conversation)
    writeUserFile(flags.output, text)
    this.printObject(
      { output: flags.output, messages: conversation.messages.length },
      `wrote ${conversation.messages.length} messages to ${flags.output}`,
    )
  }

  private async writeBundle(store: Store, agentId: string, output: string, isTree: boolean): Promise<void> {
    // Loaded only here: node:zlib takes time to load.
    const { exportBundle } = await import('../src/operations/export-bundle.js')
    const { bytes, agents } = exportBundle(store, agentId, isTree)
    if (output === '-') {
      process.stdout.write(bytes)
      return
    }
    writeUserFile(output, bytes, 0o600)
    const what = agents.length === 1 ? '1 agent' : `${agents.length} agents`
    this.printObject({ output, agents, bytes: bytes.length }, `wrote ${what} to ${output}`)
  }
}
