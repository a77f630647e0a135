import { resolve } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { agent } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { toMarkdown } from '../src/console/print/markdown.js'
import { stdout } from '../src/console/stdio.js'
import { SubstratError } from '../src/errors.js'
import { writePrivateFile, writeUserFile } from '../src/files/user-files.js'
import { exportConversation } from '../src/operations/export.js'
import type { Store } from '../src/storage/store.js'

export default class Export extends WritingCommand {
  static override summary = 'Write the conversation of an agent as Markdown, or a bundle for another home.'
  static override examples = [
    '<%= config.bin %> export notes -o notes.md',
    '<%= config.bin %> export notes --json',
    '<%= config.bin %> export notes --bundle notes.bundle --tree',
    '<%= config.bin %> export notes --bundle notes.bundle --move',
    '<%= config.bin %> export notes --move --to ssh://laptop --workspace /home/me/project',
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
    tree: Flags.boolean({ description: 'with all living agents below it' }),
    move: Flags.boolean({
      description:
        'close the agents in this home: they move, with their ids, mail, waits, tokens and keys; a running turn is interrupted',
    }),
    to: Flags.string({
      description: 'move to the home of another machine, with its substrat import, through ssh',
      helpValue: 'ssh://[USER@]HOST[:PORT][/HOME]',
      dependsOn: ['move'],
      exclusive: ['bundle', 'output'],
    }),
    name: Flags.string({ description: 'with --to: name of the agent there', dependsOn: ['to'] }),
    workspace: Flags.string({
      description: 'with --to: working directory of all agents there',
      dependsOn: ['to'],
    }),
    'remote-command': Flags.string({
      description: 'with --to: how the shell there runs substrat; default: SUBSTRAT_REMOTE, or substrat',
      dependsOn: ['to'],
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Export)
    if (flags.tree && flags.bundle === undefined && flags.to === undefined)
      throw new SubstratError('USAGE', '--tree is for a bundle', { hint: 'name its file: --bundle FILE' })
    if (flags.to !== undefined) return this.moveTo(args.agent, flags.to, flags)
    if (flags.move) return this.move(args.agent, flags)
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

  private async move(word: string, flags: { bundle?: string | undefined; tree: boolean }): Promise<void> {
    const { bundle: file, tree: isTree } = flags
    if (file === undefined || file === '-')
      throw new SubstratError('USAGE', 'a move needs a file, which is durable before the agents are closed', {
        hint: 'name it: --bundle FILE; or move to another machine: --to ssh://HOST',
      })
    const agentId = this.resolveForWrite(word)
    const { moveAgents } = await import('../src/operations/transfer/move-agents.js')
    const { bundle, agents, isRepeated } = await moveAgents(this.context({ drains: false }), {
      agentId,
      isTree,
      to: resolve(file),
      deliver: async (bytes) => writePrivateFile(file, bytes),
    })
    const what = agents.length === 1 ? '1 agent' : `${agents.length} agents`
    const when = isRepeated ? 'an earlier command has moved' : 'moved'
    this.printObject({ output: file, agents, bytes: bundle.length }, `${when} ${what} to ${file}`)
  }

  private async moveTo(
    word: string,
    to: string,
    flags: {
      tree: boolean
      name?: string | undefined
      workspace?: string | undefined
      'remote-command'?: string | undefined
    },
  ): Promise<void> {
    const agentId = this.resolveForWrite(word)
    const { moveOverSsh } = await import('../src/operations/transfer/move-over-ssh.js')
    const { bundle, agents } = await moveOverSsh(this.context({ drains: false }), {
      ...{ agentId, isTree: flags.tree, to, name: flags.name ?? null, workspace: flags.workspace ?? null },
      remoteCommand: flags['remote-command'] ?? (process.env.SUBSTRAT_REMOTE || 'substrat'),
    })
    const what = agents.length === 1 ? '1 agent' : `${agents.length} agents`
    this.printObject({ output: to, agents, bytes: bundle.length }, `moved ${what} to ${to}`)
  }

  private async writeBundle(store: Store, agentId: string, output: string, isTree: boolean): Promise<void> {
    // Loaded only here: node:zlib takes time to load.
    const { exportBundle } = await import('../src/operations/transfer/export-bundle.js')
    const { bytes, agents } = exportBundle(store, agentId, isTree, await this.openCount('agents read'))
    if (output === '-') {
      stdout.write(bytes)
      return
    }
    writePrivateFile(output, bytes)
    const what = agents.length === 1 ? '1 agent' : `${agents.length} agents`
    this.printObject({ output, agents, bytes: bytes.length }, `wrote ${what} to ${output}`)
  }
}
