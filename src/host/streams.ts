/** stdout and stderr, where they are files or devices. */
import { errnoName } from '../errors.js'
import * as io from './disk/io.js'

/** All of `bytes`, behind what the stream has already. Returns the name of the error that stopped it. */
export function writeStream(fd: number, bytes: Uint8Array): string | undefined {
  try {
    io.writeStream(fd, bytes)
    return undefined
  } catch (error) {
    return String(errnoName(error))
  }
}
