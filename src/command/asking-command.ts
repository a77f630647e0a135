/** The base of the commands that ask the person at the terminal about a turn that waits. */
import { canAsk } from '../console/prompt.js'
import { isGiven } from '../console/reporter.js'
import type { Context } from '../dispatch/context.js'
import type { OnOutcome } from '../dispatch/outcome.js'
import { isInBackground } from '../host/identity.js'
import { ask, live, printToken } from './flags.js'
import { WritingCommand } from './writing.js'

export abstract class AskingCommand extends WritingCommand {
  /** Repeated, as in `WritingCommand`. */
  static override enableJsonFlag = true
  static override baseFlags = { live, 'print-token': printToken, ask }

  /** Whether the command can ask the person at this terminal something. */
  protected get canAsk(): boolean {
    return canAsk() && !this.jsonEnabled() && this.caller === null && !isGiven(this.argv, '--no-ask')
  }

  /**
   * Whether the command asks the person about a turn that waits. A job in the background, and a command that prints records or tokens
   * for another program, exit 5 instead.
   */
  protected get asksHere(): boolean {
    if (!this.canAsk || isGiven(this.argv, '--stream') || this.printsTokens || isInBackground()) return false
    return this.settings.get('ask').value !== 'off'
  }

  /** Runs a part of the command with one outcome, and reports it. If its turn waits for the person at this terminal, asks and goes on. */
  protected async untilDecided(ctx: Context, work: (onOutcome: OnOutcome) => Promise<void>): Promise<void> {
    if (!this.asksHere) return work((outcome) => this.report(outcome))
    const { askUntilDone } = await import('./asking.js')
    await askUntilDone(ctx, work, (outcome, wasAsked) => this.report(outcome, wasAsked))
  }
}
