/** The facts that the harness needs about a real program. A file of this folder exports one of these. */
import type { ScriptedCall } from '../../test/support/model-server/scenario.js'

export interface RealProgram {
  /** Its name in the table. */
  name: string
  /** The provider that drives it: `exec`, or that of the plugin in `plugins/provider-<provider>`. */
  provider: string
  /** Installed from the npm registry in exactly these versions; empty for a program in this folder. */
  packages: Record<string, string>
  /** Its executable in `node_modules/.bin`, or the file of this folder. */
  executable: string
  /**
   * Writes the configuration that points it at the loopback model. Returns the variables it needs besides HOME, PATH
   * and XDG_*.
   */
  configure(place: Place): Record<string, string>
  /** Flags of `substrat spawn` after `--provider`: the options `command`, `model`, … */
  flags(place: Place): string[]
  /** A call of the program's own shell tool with this command. */
  runCall(command: string): ScriptedCall
  /** Removes its native sessions, as a user who cleans up would. */
  vanish(place: Place): void
  /** The program alone, for the comparison of times, and the maximum ratio of substrat's time to it. */
  bare?: { argv(place: Place, prompt: string): [string, ...string[]]; ratioMax?: number }
  /** Whether its provider keeps a server between turns. */
  isWarm?: boolean
  /** The cases that it cannot pass, with the reason. The table names them, and they do not run. */
  cannot?: Partial<Record<CaseName, string>>
}

export const CASE_NAMES = [
  'new turn',
  'resume',
  'kill',
  'reply kept',
  'cancel',
  'permission',
  'denial',
  'allowed',
  'tools',
  'wrong key',
  'refusal',
  'vanished',
  'overhead',
  'warm',
] as const

export type CaseName = (typeof CASE_NAMES)[number]

/** The directories of a program. It reads and writes nothing outside `home`, the XDG directories and `workspace`. */
export interface Place {
  /** HOME. */
  home: string
  /** XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME. */
  config: string
  data: string
  cache: string
  workspace: string
  /** The URL of the loopback model, without a path; OpenAI's APIs are below `/v1`. */
  modelUrl: string
  /** The absolute path of the executable. */
  program: string
}
