/** The start barrier and the leash: a program starts after its record, and ends with substrat. */
import { check, doesNotHold, holds } from '../../host/selftest/check.js'
import type { SelftestCheck } from '../../schema/output-home.js'

export const PROGRAMS: [string, string] = [
  'a program starts after its record',
  'a program dies with substrat',
]

export interface ProgramWorld {
  /** A turn with a program that runs until it is killed. Undefined if it does not start. */
  startProgram(): Promise<{ sawItsRecord: boolean; killSubstrat(): Promise<void> } | undefined>
  /** Starts a program whose record fails. Whether it ran. */
  startUnrecorded(): Promise<boolean>
  /** Whether that program has ended. May take a moment. */
  hasEnded(): Promise<boolean>
}

const SHELL =
  'check that /bin/sh is a POSIX shell, and that no sandbox keeps it from starting or killing processes'

export async function programChecks(world: ProgramWorld): Promise<SelftestCheck[]> {
  const program = await world.startProgram()
  const start = await check(PROGRAMS[0], async () => {
    if (program === undefined) return doesNotHold('the program of a turn did not start', SHELL)
    if (!program.sawItsRecord) return doesNotHold('a program ran before its record was in the log', SHELL)
    if (await world.startUnrecorded()) return doesNotHold('a program ran whose record had failed', SHELL)
    return holds('its record was in the log; one whose record failed did not run')
  })
  const end = await check(PROGRAMS[1], async () => {
    if (program === undefined) return doesNotHold('the program of a turn did not start', SHELL)
    await program.killSubstrat()
    return (await world.hasEnded())
      ? holds('it ended after SIGKILL of the command that had started it')
      : doesNotHold('it ran on after SIGKILL of the command that had started it', SHELL)
  })
  return [start, end]
}
