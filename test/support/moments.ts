/** Moments within a command at which a test interrupts it, as shares of its current duration on this machine. */
import type { House } from './cli.js'

/** From before its first effect until about its end. */
export const SHARES = [0.4, 0.6, 0.75, 0.9, 1]

/** The duration of the command as a process. */
export async function msOf(house: House, ...args: string[]): Promise<number> {
  const begun = performance.now()
  await house.start(args).result
  return performance.now() - begun
}
