/** Why the server does not start. It ends the command with the exit status of the code. */
import type { ErrorCode } from './core.js'

export class StartError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly hint: string,
  ) {
    super(message)
  }
}
