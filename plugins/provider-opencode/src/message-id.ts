/** An id for a message, as OpenCode makes them: it takes one that it is given, and so the turn is known before it begins. */
import { randomBytes } from 'node:crypto'

const CHARACTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CHANCE_CHARACTERS = 14

/** Ascending: the lower 48 bits of the time, with 12 bits of a count below its milliseconds, and then chance. */
export function newMessageId(now = Date.now()): string {
  // OpenCode's own count begins at 1: what it makes in the same millisecond comes after.
  const time = BigInt.asUintN(48, BigInt(now) << 12n)
  const chance = [...randomBytes(CHANCE_CHARACTERS)].map((byte) => CHARACTERS[byte % CHARACTERS.length])
  return `msg_${time.toString(16).padStart(12, '0')}${chance.join('')}`
}
