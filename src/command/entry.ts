// The entry of the bundle. Every command pays for its imports, so keep them few.
import { userInfo } from 'node:os'
import type { Errors, Interfaces } from '@oclif/core'
import { run } from '@oclif/core/run'
import { settings } from '@oclif/core/settings'
import packageJson from '../../package.json' with { type: 'json' }
import { suggestion } from '../closest.js'
import { asSubstratError, errorJson, errorLine } from '../console/output.js'
import { guardStdio, stderr, stdout } from '../console/stdio.js'
import { SubstratError } from '../errors.js'
import { isThere } from '../files/user-files.js'
import { packagePlaces, withOfficial } from '../provider/official.js'
import type { PluginFacts } from '../provider/registry.js'
import { connectEarly } from '../settings/home-address.js'
import { type Commands, commandIn, startOwn } from '../start/own-command.js'
import { OwnConfig } from '../start/own-config.js'
import { keepLoader } from '../start/plugin-modules.js'
import type { Starter } from '../start/starter.js'
import { keepThread } from '../start/threads.js'
import { readPlugins } from './plugin-code.js'

const pjson = packageJson as unknown as Interfaces.PJSON

/** These commands take the password of the home from the environment themselves, where an early connection leaves none. */
const CONNECT_THEMSELVES = ['serve', 'store']

const LOAD_NONE = ['plugins', 'selftest']

/** Runs the command line and ends the process. */
export async function start(root: string, commands: Commands, starter: Starter): Promise<void> {
  const argv = withoutAlias(process.argv.slice(2))
  keepThread(starter.thread)
  keepLoader(starter.requireSaved)
  guardStdio()
  // Run only compiled code. By default, oclif looks for a TypeScript compiler if NODE_ENV is test or development, and
  // warns at every start while an ESM plugin is linked.
  settings.enableAutoTranspile = false
  process.once('beforeExit', failUnfinished)
  process.removeAllListeners('warning').on('warning', warn)
  try {
    const config = new OwnConfig(root, pjson)
    const { plugins, userPlugins } = usersPlugins(root, config.pluginList, argv, starter)
    const isOwn = isOurs(commands, argv)
    const isEarly = isOwn && !CONNECT_THEMSELVES.includes(argv[0] ?? '')
    if (starter.thread !== undefined && isEarly && plugins !== undefined && !isHelp(argv))
      connectEarly(() => withOfficial(packagePlaces(root, config.pluginList), plugins))
    if (!isOwn || isHelp(argv)) nameShell()
    refuseTopic(commands, argv)
    await (startOwn(config, commands, argv, plugins) ??
      (isHelp(argv) ? showHelp(root, argv, userPlugins) : run(argv, { root, pjson, userPlugins })))
  } catch (error) {
    fail(error, argv, commands)
  }
  process.off('beforeExit', failUnfinished)
  await stdout.flush()
  stdout.finish()
  await stderr.flush()
  // A provider may leave a timer, a connection or a turn that ignores its abort signal. None of them keeps the process alive.
  process.exit()
}

/** Other words for commands: those of oclif, and those of earlier versions. */
const ALIASES: Record<string, string[]> = {
  'plugins:i': ['plugins', 'install'],
  'plugins:remove': ['plugins', 'uninstall'],
  'plugins:unlink': ['plugins', 'uninstall'],
  'providers:add': ['plugins', 'add'],
}

function withoutAlias(argv: string[]): string[] {
  const [first = '', ...rest] = argv
  if (first === 'help') return [first, ...withoutAlias(rest)]
  const words = Object.hasOwn(ALIASES, first) ? 1 : 2
  const meant = ALIASES[words === 1 ? first : `${first}:${rest[0]}`]
  return meant === undefined ? argv : [...meant, ...argv.slice(words)]
}

/** Reports the error of an unknown command or of oclif's plugins. Our own commands report their errors themselves. */
function fail(thrown: unknown, argv: string[], commands: Commands): void {
  const { oclif, code, message } = Object(thrown) as Partial<Errors.CLIError>
  // oclif ends `--help` and `this.exit(…)` by throwing.
  if (code === 'EEXIT') {
    process.exitCode = oclif?.exit
    return
  }
  const [, unknown] = /^[cC]ommand (.+) not found\.?$/.exec(message ?? '') ?? []
  const error =
    unknown === undefined
      ? asSubstratError(thrown, `substrat ${argv[0]}`)
      : unknownCommand(unknown.replaceAll(':', ' '), commands)
  if (argv.includes('--json')) stdout.write(`${JSON.stringify(errorJson(error), null, 2)}\n`)
  stderr.line(errorLine(error))
  if (process.env.DEBUG) stderr.write(`${(Object(thrown) as Error).stack}\n`)
  process.exitCode = error.exitStatus
}

function unknownCommand(words: string, commands: Commands): SubstratError {
  const [first = '', ...rest] = words.split(' ')
  const isTopic = Object.keys(commands).some((id) => id.startsWith(`${first}:`))
  const names = Object.keys(commands).map((id) => id.replaceAll(':', ' '))
  const name = isTopic ? [first, ...rest.slice(0, 1)].join(' ') : first
  const known = isTopic ? names : [...names, 'help']
  const meant = elsewhere(name, known) ?? suggestion(name, known)
  return new SubstratError('USAGE', `there is no command ${name}${meant}`, {
    hint: 'substrat help',
  })
}

/** `serve` is a command and begins the names of others. Without this, it would take a misspelt one for its arguments. */
function refuseTopic(commands: Commands, argv: string[]): void {
  const [first = '', second = '', third = ''] = argv
  if (isHelp(argv) || second === '' || commandIn(argv, commands).words !== 1) return
  if (!Object.keys(commands).some((id) => id.startsWith(`${first}:${second}:`))) return
  const words = [first, second, ...(third.startsWith('-') ? [] : [third])].join(' ').trim()
  const names = Object.keys(commands).map((id) => id.replaceAll(':', ' '))
  throw new SubstratError('USAGE', `there is no command ${words}${suggestion(words, names)}`, {
    hint: `see its commands: substrat help ${first} ${second}`,
  })
}

/** Names of other tools for what commands do. No letters are similar, so the words are listed. */
const NAMES_ELSEWHERE: Record<string, string[]> = {
  ls: ['list'],
  ps: ['list'],
  status: ['list'],
  rm: ['remove'],
  delete: ['remove'],
  new: ['spawn'],
  create: ['spawn'],
  run: ['send', 'spawn'],
  start: ['spawn', 'resume'],
  stop: ['cancel', 'suspend'],
  kill: ['cancel', 'terminate'],
  // The first command that writes makes the home, and each agent program or key has its own login.
  init: ['spawn'],
  login: ['providers'],
}

function elsewhere(name: string, known: string[]): string | undefined {
  const words = name.split(' ')
  const last = words.pop() ?? ''
  if (!Object.hasOwn(NAMES_ELSEWHERE, last)) return undefined
  const meant = NAMES_ELSEWHERE[last]?.map((word) => [...words, word].join(' ')) ?? []
  return meant.every((each) => known.includes(each)) ? `; did you mean ${meant.join(' or ')}?` : undefined
}

/** Prints a warning of Node or oclif in one line; Node's default adds the process id and a stack. */
function warn(warning: Error): void {
  const [first] = warning.message.split('\n')
  stderr.line(`substrat: warning: ${process.env.DEBUG ? warning.stack : first}`)
}

/** A promise that can never settle would end Node with status 0 (success) or 13 (refused). Both would be wrong here. */
function failUnfinished(): void {
  stderr.line(
    'substrat: exited before the command finished. This is a bug; everything that was acknowledged is on disk.',
  )
  process.exitCode = 1
}

/** Without SHELL, oclif asks the password database for it, and fails for a user without an entry. */
function nameShell(): void {
  if (process.env.SHELL !== undefined) return
  try {
    userInfo()
  } catch {
    process.env.SHELL = '/bin/sh'
  }
}

function isHelp(argv: string[]): boolean {
  const end = argv.indexOf('--')
  const words = end < 0 ? argv : argv.slice(0, end)
  return argv.length === 0 || argv[0] === 'help' || words.includes('--help') || words.includes('-h')
}

async function showHelp(root: string, argv: string[], userPlugins: boolean): Promise<void> {
  const [{ Config }, { SubstratHelp }] = await Promise.all([
    import('@oclif/core/config'),
    import('./help.js'),
  ])
  const help = new SubstratHelp(await Config.load({ root, pjson, userPlugins }))
  await help.showHelp(argv[0] === 'help' ? argv.slice(1) : argv)
}

function isOurs(commands: Commands, [first]: string[]): boolean {
  return Object.keys(commands).some((id) => id.split(':')[0] === first)
}

interface UsersPlugins {
  /** Undefined if oclif must load them. */
  plugins: PluginFacts[] | undefined
  /** Whether oclif may load them. */
  userPlugins: boolean
}

/**
 * Refuses the whole command if another user could have written plugin code, which would run with our rights. Skipping the
 * plugins would silently change what the command does. The commands that load none work beside one that hangs or prints.
 */
function usersPlugins(root: string, list: string, argv: string[], { whyUntrusted }: Starter): UsersPlugins {
  const none = { plugins: [], userPlugins: false }
  if (!isThere(list)) return none
  const { code, providers, damage } = readPlugins(list, root)
  const why = whyUntrusted([list, ...code])
  if (why !== undefined)
    throw new SubstratError('HOME_EXPOSED', `the plugins of ${list} are not loaded: ${why}`, {
      hint: 'run as their owner, remove the plugin from that list, or set SUBSTRAT_DATA_DIR to your own directory and install the plugins there',
      facts: { path: list },
    })
  const [first, second] = argv
  if (LOAD_NONE.includes((first === 'help' ? second : first)?.split(':')[0] ?? '')) return none
  if (damage !== undefined) stderr.line(`substrat: warning: ${damage}`)
  return damage === undefined ? { plugins: providers, userPlugins: true } : none
}
