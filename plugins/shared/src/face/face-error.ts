/** An error with a code, as commands print it with `--json`, or a SubstratError. */
export interface Coded {
  code: string
  message: string
  hint?: string | null | undefined
  facts?: Record<string, unknown>
}

/** An error that a command printed, or of the face itself. */
export class FaceError extends Error implements Coded {
  constructor(
    readonly code: string,
    message: string,
    /** What to do next. */
    readonly hint: string | null = null,
    readonly facts: Record<string, unknown> = {},
  ) {
    super(message)
  }

  static of({ code, message, hint = null, facts = {} }: Coded): FaceError {
    return new FaceError(code, message, hint, facts)
  }

  /** For a person or a model. */
  get text(): string {
    return this.hint === null ? this.message : `${this.message} (${this.hint})`
  }
}
