import type { TurnEvent } from './turn-event.js'

/** A failure to record is not the provider's, even where the provider's code is what it is thrown through. */
export class StorageGuard {
  failure: unknown
  hasFailed = false

  constructor(private readonly write: (event: TurnEvent) => void) {}

  persist(event: TurnEvent): void {
    try {
      this.write(event)
    } catch (error) {
      this.failure ??= error
      this.hasFailed = true
      throw error
    }
  }
}
