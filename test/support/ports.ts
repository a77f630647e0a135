/** Free ports of the loopback, for servers whose settings name their port. */
import { existsSync, readFileSync } from 'node:fs'

/**
 * Each worker of vitest has a range of its own. All are below the ports that the kernel gives to connections and to listeners on
 * port 0 (from 32768 on), so none of these takes one between this call and the start of the server.
 */
const [FIRST, EACH, RANGES] = [10_000, 1000, 20]
/** Two runs of the tests, and two files one after another in a worker, begin at different ports. */
let last = process.pid % EACH

export function freePort(): number {
  const first = FIRST + (Number(process.env.VITEST_POOL_ID ?? 0) % RANGES) * EACH
  const used = usedPorts()
  for (let tried = 0; tried < EACH; tried++) {
    last = (last + 1) % EACH
    if (!used.has(first + last)) return first + last
  }
  throw new Error(`no port from ${first} to ${first + EACH - 1} is free`)
}

/** The local ports of all sockets, also of those whose connection has ended. */
function usedPorts(): Set<number> {
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].filter(existsSync)
  const ports = tables.flatMap((table) =>
    [...readFileSync(table, 'utf8').matchAll(/^ *\d+: [0-9A-F]+:([0-9A-F]{4}) /gm)].map(([, hex = '']) =>
      Number.parseInt(hex, 16),
    ),
  )
  return new Set(ports)
}
