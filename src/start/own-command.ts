/** Runs one of our own commands without oclif's preparations: reading the manifest, searching plugins, loading help. */
import type { OwnConfig, OwnPlugin } from './own-config.js'

/** Our own commands by id (`config:get`). A getter loads each at its first use. */
export type Commands = Record<string, OwnCommand>
interface OwnCommand {
  id: string
  new (argv: string[], config: OwnConfig): { start?(): Promise<void> }
}

/** Undefined if oclif must run: for help, for a command that is not ours, and for plugins that it must load (undefined). */
export function startOwn(
  config: OwnConfig,
  commands: Commands,
  argv: string[],
  plugins: OwnPlugin[] | undefined,
): Promise<void> | undefined {
  const [first] = argv
  if (first === '--version' && argv.length === 1) return printVersion(config)
  const { id, words } = commandIn(argv, commands)
  if (id === undefined || argv.includes('--help') || argv.includes('-h')) return undefined
  if (plugins === undefined) return undefined
  config.addPlugins(plugins)
  const command = commands[id] as OwnCommand
  command.id = id
  // The commands of official plugins have no base of ours: oclif runs them.
  return new command(argv.slice(words), config).start?.()
}

const WORDS_MAX = 3

/** The longest command that the first words name, and their number: `serve` and `serve token add` are both commands. */
export function commandIn(argv: string[], commands: object): { id: string | undefined; words: number } {
  for (let words = Math.min(WORDS_MAX, argv.length); words > 0; words--) {
    const id = argv.slice(0, words).join(':')
    if (Object.hasOwn(commands, id)) return { id, words }
  }
  return { id: undefined, words: 0 }
}

/** Prints the version as oclif does. Under WSL, only oclif knows the platform's name. */
function printVersion(config: OwnConfig): Promise<void> | undefined {
  if (process.env.WSL_DISTRO_NAME !== undefined) return undefined
  process.stdout.write(`${config.userAgent}\n`)
  return Promise.resolve()
}
