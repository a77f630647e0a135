/**
 * Catches errors that a provider throws outside of our calls: in a timer, an emitter without an error listener, or a
 * promise without a handler. Node would end the process in mid-turn; here the turn fails. A provider's process.exit()
 * fails the turn too: an exit with status 0 would look like success.
 */
import { providerFailure } from '../../provider/failure.js'

const open = new Set<UncaughtErrors>()
const { exit } = process

export class UncaughtErrors {
  /** Rejects with the first error. */
  readonly first: Promise<never>
  onError: (error: unknown) => void = () => undefined

  constructor() {
    this.first = new Promise((_, reject) => {
      this.onError = reject
    })
    this.first.catch(() => undefined)
    // One listener per concurrent turn; above ten, Node would warn of a leak.
    process.setMaxListeners(0)
    process.on('uncaughtException', this.onError)
    open.add(this)
    process.exit = refuseExit
  }

  close(): void {
    process.off('uncaughtException', this.onError)
    open.delete(this)
    if (open.size === 0) process.exit = exit
  }
}

function refuseExit(): never {
  const failure = providerFailure('crashed', 'the provider tried to end the process')
  for (const turn of open) turn.onError(failure)
  throw failure
}
