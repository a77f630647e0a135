import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { terminalColumns } from '../src/console/print/hanging.js'
import { treeText, watchedTreeText } from '../src/console/print/tree-text.js'
import { fitted } from '../src/console/print/width.js'
import { damageOf, viewTree } from '../src/operations/tree.js'

export default class Tree extends BaseCommand {
  static override summary = 'Draw the tree of agents with their status.'
  static override description =
    'Takes no lock and writes nothing. Agents with a missing parent, a parent cycle or an unreadable log are listed separately, with the reason, and the command exits 10.'
  static override examples = ['<%= config.bin %> tree', '<%= config.bin %> tree lead --all --json']
  static override args = {
    agent: Args.string({
      description: 'draw only this agent and those below it; default: all',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    all: Flags.boolean({ default: false, description: 'also show terminated agents' }),
    watch: Flags.boolean({
      description: 'draw the tree again when it changes, until Ctrl-C; agents that need you come first',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Tree)
    const agentId = args.agent === undefined ? undefined : this.resolveForRead(args.agent).agentId
    if (flags.watch) return this.watch(agentId, flags.all)
    const store = this.openForRead()
    const tree = viewTree(store, { agentId, all: flags.all })
    this.printObject(tree, treeText(tree, terminalColumns() !== undefined))
    const damage = damageOf(tree)
    if (damage !== undefined) this.fail(damage, false)
  }

  private async watch(agentId: string | undefined, all: boolean): Promise<void> {
    const { redraw, refuseWithoutTerminal, terminalSize } = await import('../src/console/watch.js')
    refuseWithoutTerminal(this.jsonEnabled())
    const draw = (): string => {
      const store = this.openForRead()
      const text = watchedTreeText(viewTree(store, { agentId, all }))
      const { columns } = terminalSize()
      return text
        .split('\n')
        .map((line) => fitted(line, columns))
        .join('\n')
    }
    await redraw(draw, () => this.isRead)
  }
}
