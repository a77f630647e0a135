/** The words of the help pages besides those of the commands. The man pages have them too: man/pages.mjs. */
import type { Command } from '@oclif/core/command'

/** The commands of the first day, in the order in which a person needs them. */
export const FIRST = [
  'spawn',
  'send',
  'list',
  'show',
  'log',
  'wait',
  'approve',
  'deny',
  'answer',
  'resume',
  'cancel',
  'recover',
]

export const GROUPS = {
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
  SCHEDULE: [
    'schedule add',
    'schedule list',
    'schedule show',
    'schedule pause',
    'schedule resume',
    'schedule run-now',
    'schedule remove',
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
    'serve token add',
    'serve token list',
    'serve token revoke',
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
export const SUMMARIES: Record<string, string> = {
  help: 'Describe a command.',
}

export const QUICK_START = [
  ['substrat providers', 'list the providers, and what each one needs'],
  ['substrat spawn --name notes --provider scripted', 'create an agent (this provider only echoes)'],
  ["substrat send notes 'What is open?'", 'send it a message and print the reply'],
  ['substrat show notes', 'show its status and the next command'],
  ['substrat log notes', 'read what was said and what happened'],
  ['substrat recover --all', 'repair and continue agents after a crash'],
]

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
  url: 'URL',
  token: 'TOKEN',
  workspace: 'DIR',
}

/** Adds the name of an option's value. oclif defines `--json` itself, with a description of its own. */
export function describedFlag(flag: Command.Flag.Any): Command.Flag.Any {
  if (flag.name === 'json') return { ...flag, description: 'print one JSON object on stdout' }
  if (flag.type !== 'option' || flag.helpValue !== undefined || flag.options !== undefined) return flag
  return { ...flag, helpValue: VALUES[flag.name] }
}

/** `send AGENT [MESSAGE] [FLAGS]`, with the flags that are required. */
export function usageOf({ id, args = {}, flags = {}, strict }: Command.Loadable): string {
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
