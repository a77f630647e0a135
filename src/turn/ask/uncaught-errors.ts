/**
 * What a provider throws outside of any call of ours: from a timer, from an emitter that nobody listens to, in a promise
 * that nobody awaits. Node would end the process in mid-turn for it; here it is a failure of the turn. So is an end of
 * the process that the provider asks for itself: with status 0 it would look as if the turn had gone well.
 */
import { providerFailure } from '../../provider/failure.js'

const open = new Set<UncaughtErrors>()
const { exit } = process

export class UncaughtErrors {
  /** Rejects with the first one. */
  readonly first: Promise<never>
  onError: (error: unknown) => void = () => undefined

  constructor() {
    this.first = new Promise((_, reject) => {
      this.onError = reject
    })
    this.first.catch(() => undefined)
    // As many as turns run side by side; past ten Node would warn of a leak.
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
