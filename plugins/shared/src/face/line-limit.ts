/** A client speaks in lines of JSON. */
import { FaceError } from './face-error.js'

/** A message may have 10 MiB, and JSON may escape each of its characters. */
export const LINE_BYTES_MAX = 24 * 1024 * 1024

/** Such a line ends the connection, because its end may never come. */
export function lineTooLong(): FaceError {
  return new FaceError(
    'USAGE',
    `a request of the client is longer than ${LINE_BYTES_MAX} bytes`,
    'put large content into a file of the workspace',
  )
}
