/**
 * A command of ours without what oclif does before it: read the manifest, look for plugins, load its help.
 */
import type { Interfaces } from '@oclif/core'
import type { OwnConfig } from './own-config.js'

/** Our own commands by their ids (`config:get`), each loaded when it is asked for. */
export type Commands = Record<string, OwnCommand>
interface OwnCommand {
  id: string
  new (argv: string[], config: OwnConfig): { start(): Promise<void> }
}

/** Undefined where oclif has to look: for help, for what is no command of ours, and where the user has plugins. */
export function startOwn(
  config: OwnConfig,
  commands: Commands,
  argv: string[],
  hasPlugins: boolean,
): Promise<void> | undefined {
  const [first = '', second] = argv
  if (first === '--version' && argv.length === 1) return printVersion(config)
  const id = [`${first}:${second}`, first].find((word) => word !== 'mcp' && Object.hasOwn(commands, word))
  if (id === undefined || argv.includes('--help') || argv.includes('-h') || hasPlugins) return undefined
  const command = commands[id] as OwnCommand
  command.id = id
  return new command(argv.slice(id === first ? 1 : 2), config).start()
}

/** As oclif prints it. On Windows' Linux only oclif knows how it is called. */
function printVersion(config: OwnConfig): Promise<void> | undefined {
  if (process.env.WSL_DISTRO_NAME !== undefined) return undefined
  process.stdout.write(`${config.userAgent}\n`)
  return Promise.resolve()
}

/** Our own commands need none of oclif's plugins. User plugins stay. */
export function withoutPlugins(pjson: Interfaces.PJSON): Interfaces.PJSON {
  return { ...pjson, oclif: { ...pjson.oclif, plugins: [] } }
}
