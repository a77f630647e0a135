/** A request that failed. Without a status, the server did not answer, and the outcome is unknown. */
export class Problem extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly status: number | undefined,
    /** What to do next. */
    readonly next: string | null,
    /** The field of the request that is wrong, if the server named one, and the agent that it is about. */
    readonly facts: { param?: unknown; agent_id?: unknown } = {},
  ) {
    super(message)
  }

  /**
   * Whether the page may repeat the request by itself: the server, or a proxy before it, is away or busy. Any other status is an
   * answer about the request, for example that the provider of the agent has no key.
   */
  get isTemporary(): boolean {
    if (this.status === undefined || this.status === 503) return true
    return this.code === 'FOREIGN_ANSWER' && (this.status === 502 || this.status === 504)
  }
}
