/** The pages of `substrat help`: the first commands, with `--all` every command in groups, and the page of exit codes. */
import type { Command } from '@oclif/core/command'
import { CommandHelp, Help, type HelpFormatter } from '@oclif/core/help'
import { EXIT_MEANINGS } from '../console/exit-codes.js'
import { displayWidth } from '../console/print/width.js'
import { describedFlag, FIRST, GROUPS, QUICK_START, SUMMARIES, usageOf } from './help-words.js'

const EXIT_CODES = 'exit-codes'

type RenderList = HelpFormatter['renderList']

/** In a narrow terminal, oclif puts descriptions below the names and wraps them two columns too wide. */
function fittingList(render: RenderList, columns: number): RenderList {
  return (rows, options) => {
    const list = render(rows, options)
    const isTooWide = list.split('\n').some((line) => displayWidth(line) > columns - options.indentation)
    return isTooWide ? render(rows, { ...options, indentation: options.indentation + 2 }) : list
  }
}

export class SubstratHelp extends Help {
  protected override CommandHelpClass = SubstratCommandHelp

  override renderList: RenderList = fittingList(super.renderList.bind(this), this.opts.maxWidth ?? 80)

  override async showHelp(argv: string[]): Promise<void> {
    const word = argv.find((each) => !each.startsWith('-'))
    if (word === EXIT_CODES) this.log(this.exitCodes())
    else if (word === undefined && argv.includes('--all')) this.showAll()
    else await super.showHelp(argv)
  }

  protected override showRootHelp(): Promise<void> {
    const { pjson, bin } = this.config
    this.log(`${pjson.description}\n`)
    this.log(this.section('USAGE', `$ ${bin} COMMAND [ARGUMENTS] [FLAGS]`))
    this.log('')
    this.log(this.section('QUICK START', this.list(QUICK_START.map(([line, what]) => [`$ ${line}`, what]))))
    this.log('')
    this.showGroup('COMMANDS', FIRST)
    this.log('')
    this.log(
      this.section(
        'MORE',
        this.list([
          [`${bin} help --all`, 'list every command'],
          [`${bin} help COMMAND`, 'describe a command'],
          [`${bin} help ${EXIT_CODES}`, 'list the exit codes'],
          [`${bin} --version`, 'print the version'],
          [`${bin} serve`, 'show the agents in a browser'],
        ]),
      ),
    )
    return Promise.resolve()
  }

  private showAll(): void {
    const others = this.idsOfPlugins()
    const groups = { ...GROUPS, ...(others.length === 0 ? {} : { 'OF PLUGINS': others }) }
    Object.entries(groups).forEach(([title, ids], index) => {
      if (index > 0) this.log('')
      this.showGroup(title, ids)
    })
  }

  private showGroup(title: string, ids: string[]): void {
    this.log(this.section(title, this.list(ids.map((id) => [id, this.summaryOf(id)]))))
  }

  /** The first line of a page. */
  protected override summary(command: Command.Loadable): string | undefined {
    const summary = super.summary(command)
    return summary === undefined ? undefined : this.wrap(summary, 0)
  }

  /** The commands that the user's plugins bring. */
  private idsOfPlugins(): string[] {
    const { commands, name } = this.config
    const ids = commands.filter(({ pluginName, hidden }) => pluginName !== name && hidden !== true)
    return ids.map(({ id }) => id.replaceAll(':', ' ')).sort()
  }

  private summaryOf(id: string): string | undefined {
    const command = this.config.findCommand(id.replaceAll(' ', ':'))
    return SUMMARIES[id] ?? (command === undefined ? undefined : super.summary(command))
  }

  private list(rows: (string | undefined)[][]): string {
    return this.renderList(rows, { indentation: 2, spacer: '\n', stripAnsi: this.opts.stripAnsi ?? false })
  }

  private exitCodes(): string {
    const rows = [...EXIT_MEANINGS].map(([code, meaning]) => [String(code), meaning])
    return [
      'Exit codes, the same for all commands.\n',
      this.section('EXIT CODES', this.list(rows)),
      '\nAfter a nonzero exit, one line on stderr says what happened and which command to run next.',
    ].join('\n')
  }
}

class SubstratCommandHelp extends CommandHelp {
  override renderList: RenderList = fittingList(super.renderList.bind(this), this.opts.maxWidth ?? 80)

  protected override defaultUsage(): string {
    return usageOf(this.command)
  }

  /** Without the summary: the page already starts with it. */
  protected override description(): string | undefined {
    const { description } = this.command
    return description === undefined ? undefined : this.wrap(description)
  }

  protected override flags(flags: Command.Flag.Any[]): [string, string | undefined][] | undefined {
    return super.flags(flags.map(describedFlag))
  }
}
