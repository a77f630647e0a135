/** The facts of an agent CLI: how to install it, point it at the loopback model, and run its commands. */
import type { Place, RealProgram } from '../real/program.js'

export interface Cli extends Pick<RealProgram, 'packages' | 'executable' | 'runCall'> {
  /** Its row in the table. */
  name: string
  /** The program or the model that it drives, for a CLI without an agent of its own. */
  with?: string
  /** As in RealProgram. The workspace is the working directory of every command. */
  configure(place: Place): Record<string, string>
  /** Commands that prepare an empty home, such as installing a plugin or opening a session. */
  prepare?(place: Place): string[][]
  version: string[]
  /** The directory or file with its sessions. */
  store(place: Place): string
  /** Starts a turn that may run every tool. */
  ask(prompt: string): string[]
  /** Starts a turn in which a shell command needs a permission, if the CLI has permissions. */
  askGuarded(prompt: string): string[]
  /** Approves a call of `askGuarded` after that command has ended, if the CLI can. */
  approve?: string[]
  /** Continues the session without a new prompt. */
  next: string[]
  /** Sends the prompt again, to the same session. */
  again(prompt: string): string[]
  /** The commands whose help might name an idempotency key. */
  help: string[][]
  /** Sends a prompt with an idempotency key, or with the nearest thing to one. */
  keyed?(prompt: string): string[]
}
