/**
 * The id of this machine in records: a hash of its machine-id. The machine-id itself must not be published (machine-id(5)), and
 * the fixed text makes the hash useless for every other program.
 */
import { sha256Hex } from '../start/hash.js'
import { readProc } from './disk/outside.js'

const FILE = '/etc/machine-id'
const TEXT = 'substrat host'

/** 16 bytes in hex. Undefined without a machine-id, as in many containers and on macOS. */
export function readHostId(): string | undefined {
  const id = readProc(FILE)?.toString('latin1').trim() ?? ''
  return isMachineId(id) ? sha256Hex(`${TEXT} ${id}`).slice(0, 32) : undefined
}

/** systemd writes `uninitialized` into an image, and an id of zeros is invalid. */
function isMachineId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text) && !/^0+$/.test(text)
}
