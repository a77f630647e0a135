import type { TurnEvent } from '../step/turn-event.js'

/** A failure to record is not the provider's, even where the provider's code is what it is thrown through. */
export class StorageGuard {
  failure: unknown
  hasFailed = false

  constructor(private readonly write: (event: TurnEvent) => void) {}

  persist(event: TurnEvent): void {
    this.guard(() => this.write(event))
  }

  /** The same for what is read of the session on the way. */
  guard<T>(act: () => T): T {
    try {
      return act()
    } catch (error) {
      this.failure ??= error
      this.hasFailed = true
      throw error
    }
  }
}
