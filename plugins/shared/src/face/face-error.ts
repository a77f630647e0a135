/** An error that a command printed, or of the face itself. */
export class FaceError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string | null = null,
  ) {
    super(message)
  }

  /** For a person or a model. */
  get text(): string {
    return this.hint === null ? this.message : `${this.message} (${this.hint})`
  }
}
