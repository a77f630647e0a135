/**
 * Makes message ids in OpenCode's format. OpenCode accepts a given id, so the id of a prompt is on disk before its
 * turn begins.
 */
import { randomBytes } from 'node:crypto'

const CHARACTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CHANCE_CHARACTERS = 14

/** Ids ascend: the lower 48 bits of the time in ms times 4096 (12 bits for a counter), then random characters. */
export function newMessageId(now = Date.now()): string {
  // The counter is 0, and OpenCode's begins at 1: its ids from the same millisecond sort after this one.
  const time = BigInt.asUintN(48, BigInt(now) << 12n)
  const chance = [...randomBytes(CHANCE_CHARACTERS)].map((byte) => CHARACTERS[byte % CHARACTERS.length])
  return `msg_${time.toString(16).padStart(12, '0')}${chance.join('')}`
}
