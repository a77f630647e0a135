// The bundle's entry: everything a start pays for, whatever the command. Imports here are evaluated every time.
import type { Errors, Interfaces } from '@oclif/core'
import { run } from '@oclif/core/run'
import { settings } from '@oclif/core/settings'
import packageJson from '../../package.json' with { type: 'json' }
import { SubstratError } from '../errors.js'
import { isThere } from '../files/user-files.js'
import { OwnConfig } from '../start/own-config.js'
import type { BaseCommand } from './base.js'
import { asSubstratError, errorJson, errorLine } from './output.js'
import { pluginCode } from './plugin-code.js'
import { guardStdio, stdout } from './stdio.js'

const pjson = packageJson as unknown as Interfaces.PJSON

/** Our own commands by their ids (`config:get`), each loaded when it is asked for. */
type Commands = Record<string, CommandClass>
type CommandClass = { id: string; new (argv: string[], config: OwnConfig): BaseCommand }

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
    refuseForeignPlugins(new OwnConfig(root, pjson).pluginList, starter)
    if (!isOurs(commands, argv)) keepFromOthers()
    await (startOwn(root, commands, argv) ?? run(argv, { root, pjson: pjsonFor(argv, commands) }))
  } catch (error) {
    fail(error, argv)
  }
  process.off('beforeExit', failUnfinished)
  await written(process.stdout)
  stdout.finish()
  await written(process.stderr)
  // What a provider has left running (a timer, a connection, a turn that takes no notice of its end) keeps no process.
  process.exit()
}

/** Settles when the reader has taken all of it, however slow it is, or is gone: exit would throw away what is in a pipe's queue. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve())
  })
}

/** For what is no command of ours: one that does not exist, and those of oclif's plugins. Ours say themselves why they failed. */
function fail(thrown: unknown, argv: string[]): void {
  const { oclif, code, message } = Object(thrown) as Partial<Errors.CLIError>
  // oclif ends some commands by an error that is none: `--help`, and `this.exit(…)`.
  if (code === 'EEXIT') {
    process.exitCode = oclif?.exit
    return
  }
  const [, unknown] = /^command (.+) not found$/.exec(message ?? '') ?? []
  const error =
    unknown === undefined
      ? asSubstratError(thrown, `substrat ${argv[0]}`)
      : new SubstratError('USAGE', `there is no command ${unknown.replaceAll(':', ' ')}`, {
          hint: 'substrat help',
        })
  if (argv.includes('--json')) process.stdout.write(`${JSON.stringify(errorJson(error), null, 2)}\n`)
  process.stderr.write(`${errorLine(error)}\n`)
  if (process.env.DEBUG) process.stderr.write(`${(Object(thrown) as Error).stack}\n`)
  process.exitCode = error.exitStatus
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

function isOurs(commands: Commands, [first]: string[]): boolean {
  return Object.keys(commands).some((id) => id.split(':')[0] === first)
}

/** Plugins run in our process, with our rights: without them a command would do something else than it was told. */
function refuseForeignPlugins(pluginList: string, { whyUntrusted }: Starter): void {
  if (!isThere(pluginList)) return
  const why = whyUntrusted([pluginList, ...pluginCode(pluginList)])
  if (why === undefined) return
  throw new SubstratError('HOME_EXPOSED', `the plugins of ${pluginList} are not loaded: ${why}`, {
    hint: 'run as their owner, take the plugin out of that list, or set SUBSTRAT_DATA_DIR to a directory of your own, and install them there',
    facts: { path: pluginList },
  })
}

/** Undefined where oclif has to look: for help, for what is no command of ours, and where the user has plugins. */
function startOwn(root: string, commands: Commands, argv: string[]): Promise<void> | undefined {
  const [first = '', second] = argv
  if (first === '--version' && argv.length === 1) return printVersion(root)
  const id = [`${first}:${second}`, first].find((word) => word !== 'mcp' && Object.hasOwn(commands, word))
  if (id === undefined || argv.includes('--help') || argv.includes('-h')) return undefined
  const config = new OwnConfig(root, pjson)
  if (isThere(config.pluginList)) return undefined
  const command = commands[id] as CommandClass
  command.id = id
  return new command(argv.slice(id === first ? 1 : 2), config).start()
}

/** As oclif prints it. On Windows' Linux only oclif knows how it is called. */
function printVersion(root: string): Promise<void> | undefined {
  if (process.env.WSL_DISTRO_NAME !== undefined) return undefined
  process.stdout.write(`${new OwnConfig(root, pjson).userAgent}\n`)
  return Promise.resolve()
}

/** Our own commands need none of help, plugins and autocomplete; loading them takes 5 ms. User plugins stay. */
function pjsonFor(argv: string[], commands: Commands): Interfaces.PJSON {
  return isOurs(commands, argv) ? { ...pjson, oclif: { ...pjson.oclif, plugins: [] } } : pjson
}
