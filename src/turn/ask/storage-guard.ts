import type { TurnEvent } from '../step/turn-event.js'

/** Remembers a storage failure that passes through the provider's code, so that it does not count as the provider's. */
export class StorageGuard {
  failure: unknown
  hasFailed = false

  constructor(private readonly write: (event: TurnEvent) => void) {}

  persist(event: TurnEvent): void {
    this.guard(() => this.write(event))
  }

  /** The same for reads of the session. */
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
