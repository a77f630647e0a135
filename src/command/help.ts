/** The pages of `substrat help`: commands in six groups, short usage lines, and the page of exit codes. */
import type { Command } from '@oclif/core/command'
import { CommandHelp, Help, type HelpFormatter } from '@oclif/core/help'
import { EXIT_MEANINGS } from '../console/exit-codes.js'
import { displayWidth } from '../console/print/width.js'

const GROUPS = {
  START: ['spawn', 'fork', 'import', 'set', 'providers', 'models', 'store init'],
  TALK: [
    'send',
    'retry',
    'compact',
    'wait',
    'log',
    'search',
    'export',
    'inbox',
    'outbox',
    'notify test',
    'channel run',
  ],
  DECIDE: ['answer', 'approve', 'deny', 'resume', 'token rotate'],
  OPERATE: [
    'list',
    'tree',
    'show',
    'usage',
    'suspend',
    'cancel',
    'gate',
    'ungate',
    'deliver',
    'terminate',
    'remove',
    'prune',
    'migrate',
    'config get',
    'config list',
    'config set',
    'config unset',
    'config edit',
    'config path',
    'schema',
    'units',
    'autocomplete',
    'serve',
    'acp',
    'mcp',
    'help',
  ],
  PLUGINS: [
    'plugins',
    'plugins add',
    'plugins install',
    'plugins link',
    'plugins inspect',
    'plugins update',
    'plugins uninstall',
    'plugins reset',
  ],
  REPAIR: ['check', 'recover', 'doctor', 'unlock', 'selftest'],
}

/** Summaries of the commands that oclif's plugins bring. */
const SUMMARIES: Record<string, string> = {
  help: 'Describe a command.',
}

const QUICK_START = [
  ['substrat providers', 'list the providers, and what each one needs'],
  ['substrat spawn --name notes --provider scripted', 'create an agent (this provider only echoes)'],
  ["substrat send notes 'What is open?'", 'send it a message and print the reply'],
  ['substrat show notes', 'show its status and the next command'],
  ['substrat log notes', 'read what was said and what happened'],
  ['substrat recover --all', 'repair and continue agents after a crash'],
]

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
    if (argv.find((word) => !word.startsWith('-')) === EXIT_CODES) this.log(this.exitCodes())
    else await super.showHelp(argv)
  }

  protected override showRootHelp(): Promise<void> {
    const { pjson, bin } = this.config
    this.log(`${pjson.description}\n`)
    this.log(this.section('USAGE', `$ ${bin} COMMAND [ARGUMENTS] [FLAGS]`))
    this.log('')
    this.log(this.section('QUICK START', this.list(QUICK_START.map(([line, what]) => [`$ ${line}`, what]))))
    for (const [title, ids] of Object.entries(GROUPS)) {
      this.log('')
      this.log(this.section(title, this.list(ids.map((id) => [id, this.summaryOf(id)]))))
    }
    this.log('')
    this.log(
      this.section(
        'MORE',
        this.list([
          [`${bin} help COMMAND`, 'describe a command'],
          [`${bin} help ${EXIT_CODES}`, 'list the exit codes'],
          [`${bin} --version`, 'print the version'],
          [`${bin} serve`, 'show the agents in a browser'],
        ]),
      ),
    )
    return Promise.resolve()
  }

  /** The first line of a page. */
  protected override summary(command: Command.Loadable): string | undefined {
    const summary = super.summary(command)
    return summary === undefined ? undefined : this.wrap(summary, 0)
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

/** The names of the values of flags. */
const VALUES: Record<string, string> = {
  allow: 'TOOLS',
  from: 'AGENT',
  input: 'TEXT',
  key: 'KEY',
  last: 'N',
  'max-steps': 'N',
  model: 'MODEL',
  name: 'NAME',
  option: 'NAME=VALUE',
  output: 'FILE',
  parent: 'AGENT',
  provider: 'NAME',
  reason: 'TEXT',
  'reply-to': 'ID',
  result: 'FILE',
  system: 'TEXT',
  title: 'TEXT',
  token: 'TOKEN',
  workspace: 'DIR',
}

class SubstratCommandHelp extends CommandHelp {
  override renderList: RenderList = fittingList(super.renderList.bind(this), this.opts.maxWidth ?? 80)

  /** `send AGENT [MESSAGE] [FLAGS]`, with the flags that are required. */
  protected override defaultUsage(): string {
    const { id, args = {}, flags = {}, strict } = this.command
    const shown = Object.values(args).filter(({ hidden }) => hidden !== true)
    const words = shown.map((arg) => {
      const name = `${arg.name.toUpperCase()}${strict === false ? '...' : ''}`
      return arg.required === true ? name : `[${name}]`
    })
    const required = Object.values(flags).filter((flag) => flag.required === true && flag.hidden !== true)
    const needed = required.map(
      (flag) => `--${flag.name} ${flag.type === 'option' ? (flag.helpValue ?? 'VALUE') : ''}`,
    )
    const hasFlags = Object.values(flags).some((flag) => flag.hidden !== true)
    return [id, ...words, ...needed, ...(hasFlags ? ['[FLAGS]'] : [])].join(' ')
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

/** Adds the name of an option's value. oclif defines `--json` itself, with a description of its own. */
function describedFlag(flag: Command.Flag.Any): Command.Flag.Any {
  if (flag.name === 'json') return { ...flag, description: 'print one JSON object on stdout' }
  if (flag.type !== 'option' || flag.helpValue !== undefined || flag.options !== undefined) return flag
  return { ...flag, helpValue: VALUES[flag.name] }
}
