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

  /** Whether the same request may succeed later. With the same key, it takes effect once. */
  get isTemporary(): boolean {
    return this.status === undefined || [423, 502, 503, 504].includes(this.status)
  }
}
