/** stdout and stderr, if they are files or devices. */
import { errnoName } from '../errors.js'
import * as io from './disk/io.js'

/** Appends all of `bytes`. Returns the name of the error that stopped the write. */
export function writeStream(fd: number, bytes: Uint8Array): string | undefined {
  try {
    io.writeStream(fd, bytes)
    return undefined
  } catch (error) {
    return String(errnoName(error))
  }
}
