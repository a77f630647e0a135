/** The clients of a feed, which all end with its first error. */
export class Feed<Client extends { wake: () => void }> {
  protected readonly clients = new Set<Client>()
  private failure: unknown

  get isUsed(): boolean {
    return this.clients.size > 0
  }

  add(client: Client): void {
    this.clients.add(client)
  }

  remove(client: Client): void {
    this.clients.delete(client)
  }

  /** Each client ends with the error. */
  fail(error: unknown): void {
    this.failure = error
    this.wakeAll()
  }

  /** Throws the error of the feed. */
  check(): void {
    if (this.failure !== undefined) throw this.failure
  }

  protected wakeAll(): void {
    for (const client of this.clients) client.wake()
  }
}
