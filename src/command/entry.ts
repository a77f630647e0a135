// The bundle's entry: everything a start pays for, whatever the command. Imports here are evaluated every time.
import type { Errors, Interfaces } from '@oclif/core'
import { run } from '@oclif/core/run'
import { settings } from '@oclif/core/settings'
import packageJson from '../../package.json' with { type: 'json' }
import { suggestion } from '../closest.js'
import { SubstratError } from '../errors.js'
import { isThere } from '../files/user-files.js'
import { type Commands, startOwn, withoutPlugins } from '../start/own-command.js'
import { OwnConfig } from '../start/own-config.js'
import { asSubstratError, errorJson, errorLine } from './output.js'
import { pluginCode } from './plugin-code.js'
import { guardStdio, stdout } from './stdio.js'

const pjson = packageJson as unknown as Interfaces.PJSON

/** What src/start/run.ts knows before the bundle is there. */
export interface Starter {
  /** Why the code that these files hold, or name, could be another user's: all reasons, as one sentence. */
  whyUntrusted(paths: string[]): string | undefined
}

/** Runs the command line, and ends the process. */
export async function start(root: string, commands: Commands, starter: Starter): Promise<void> {
  const argv = process.argv.slice(2)
  guardStdio()
  // What runs is what was compiled. Otherwise oclif looks for a TypeScript compiler where NODE_ENV is test or
  // development, and warns at every start while an ESM plugin is linked.
  settings.enableAutoTranspile = false
  process.once('beforeExit', failUnfinished)
  process.removeAllListeners('warning').on('warning', warn)
  try {
    const config = new OwnConfig(root, pjson)
    const hasPlugins = isThere(config.pluginList)
    if (hasPlugins) refuseForeignPlugins(config.pluginList, starter)
    const isOwn = isOurs(commands, argv)
    if (!isOwn) keepFromOthers()
    await (startOwn(config, commands, argv, hasPlugins) ??
      (isHelp(argv)
        ? showHelp(root, argv)
        : run(argv, { root, pjson: isOwn ? withoutPlugins(pjson) : pjson })))
  } catch (error) {
    fail(error, argv, commands)
  }
  process.off('beforeExit', failUnfinished)
  await flush(process.stdout)
  stdout.finish()
  await flush(process.stderr)
  // What a provider has left running (a timer, a connection, a turn that takes no notice of its end) keeps no process.
  process.exit()
}

/** Settles when the reader has taken all of it, however slow it is, or is gone: exit would throw away what is in a pipe's queue. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve())
  })
}

/** For what is no command of ours: one that does not exist, and those of oclif's plugins. Ours say themselves why they failed. */
function fail(thrown: unknown, argv: string[], commands: Commands): void {
  const { oclif, code, message } = Object(thrown) as Partial<Errors.CLIError>
  // oclif ends some commands by an error that is none: `--help`, and `this.exit(…)`.
  if (code === 'EEXIT') {
    process.exitCode = oclif?.exit
    return
  }
  const [, unknown] = /^[cC]ommand (.+) not found\.?$/.exec(message ?? '') ?? []
  const error =
    unknown === undefined
      ? asSubstratError(thrown, `substrat ${argv[0]}`)
      : unknownCommand(unknown.replaceAll(':', ' '), commands)
  if (argv.includes('--json')) process.stdout.write(`${JSON.stringify(errorJson(error), null, 2)}\n`)
  process.stderr.write(`${errorLine(error)}\n`)
  if (process.env.DEBUG) process.stderr.write(`${(Object(thrown) as Error).stack}\n`)
  process.exitCode = error.exitStatus
}

function unknownCommand(words: string, commands: Commands): SubstratError {
  const [first = '', ...rest] = words.split(' ')
  const isTopic = Object.keys(commands).some((id) => id.startsWith(`${first}:`))
  const names = Object.keys(commands).map((id) => id.replaceAll(':', ' '))
  const name = isTopic ? [first, ...rest.slice(0, 1)].join(' ') : first
  const meant = suggestion(name, isTopic ? names : [...names, 'help', 'plugins'])
  return new SubstratError('USAGE', `there is no command ${name}${meant}`, {
    hint: 'substrat help',
  })
}

/** Of node, and of oclif for a plugin that it cannot find: on one line, where node prints the whereabouts of whoever warns. */
function warn(warning: Error): void {
  const [first] = warning.message.split('\n')
  process.stderr.write(`substrat: warning: ${process.env.DEBUG ? warning.stack : first}\n`)
}

/** Node would leave with status 0 (done) or 13 (which we call refused) when a promise can never settle. */
function failUnfinished(): void {
  console.error('substrat ended before its command did. This is a bug; what was acknowledged is on disk.')
  process.exitCode = 1
}

/**
 * What oclif and npm write for a command such as `plugins install` is code that later commands load only where no other
 * user can write to it, and that its owner has to be able to read, whatever the umask.
 */
function keepFromOthers(): void {
  process.umask((process.umask() | 0o022) & 0o077)
}

function isHelp(argv: string[]): boolean {
  const end = argv.indexOf('--')
  const words = end < 0 ? argv : argv.slice(0, end)
  return argv.length === 0 || argv[0] === 'help' || words.includes('--help') || words.includes('-h')
}

async function showHelp(root: string, argv: string[]): Promise<void> {
  const [{ Config }, { SubstratHelp }] = await Promise.all([
    import('@oclif/core/config'),
    import('./help.js'),
  ])
  const help = new SubstratHelp(await Config.load({ root, pjson }))
  await help.showHelp(argv[0] === 'help' ? argv.slice(1) : argv)
}

function isOurs(commands: Commands, [first]: string[]): boolean {
  return Object.keys(commands).some((id) => id.split(':')[0] === first)
}

/** Plugins run in our process, with our rights: without them a command would do something else than it was told. */
function refuseForeignPlugins(pluginList: string, { whyUntrusted }: Starter): void {
  const why = whyUntrusted([pluginList, ...pluginCode(pluginList)])
  if (why === undefined) return
  throw new SubstratError('HOME_EXPOSED', `the plugins of ${pluginList} are not loaded: ${why}`, {
    hint: 'run as their owner, take the plugin out of that list, or set SUBSTRAT_DATA_DIR to a directory of your own, and install them there',
    facts: { path: pluginList },
  })
}
