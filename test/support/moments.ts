/** Moments within a command, for what happens to it then: as shares of how long it takes on this machine, now. */
import type { House } from './cli.js'

/** From before it has done anything until about its end. */
export const SHARES = [0.4, 0.6, 0.75, 0.9, 1]

/** How long the command takes as a process. */
export async function msOf(house: House, ...args: string[]): Promise<number> {
  const begun = performance.now()
  await house.start(args).result
  return performance.now() - begun
}
