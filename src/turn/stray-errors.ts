/**
 * What a provider throws outside of any call of ours: from a timer, from an emitter that nobody listens to, in a promise
 * that nobody awaits. Node would end the process in mid-turn for it; here it is a failure of the turn.
 */
export class StrayErrors {
  /** Rejects with the first one. */
  readonly first: Promise<never>
  private onError: (error: unknown) => void = () => undefined

  constructor() {
    this.first = new Promise((_, reject) => {
      this.onError = reject
    })
    this.first.catch(() => undefined)
    // As many as turns run side by side; past ten Node would warn of a leak.
    process.setMaxListeners(0)
    process.on('uncaughtException', this.onError)
  }

  close(): void {
    process.off('uncaughtException', this.onError)
  }
}
