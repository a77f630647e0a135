/**
 * The command of a rule `check`. A program of the user finds out whether a call was done whose process died before its result was recorded.
 *
 * stdin has the call as JSON, the environment its identity. Exit 0: the call was done, and stdout is its result. Exit 1: it was not
 * done. Anything else, also a command that hangs or is not there, tells nothing.
 */
import type { JsonObject } from '../../provider/contract.js'
import type { LaunchCommand, LaunchedProgram } from '../../provider/host-contract.js'
import type { CheckFinding } from '../../schema/words.js'
import { timeoutSignal } from '../../timeout-signal.js'
import { gather, killOnAbort, untilDrained } from './shell.js'

/** How much of its stderr the result tells. */
const COMPLAINT_BYTES_MAX = 2000

export interface Checked {
  found: CheckFinding
  /** stdout, or for `unknown` why nothing is known. */
  output: Buffer
}

export async function runCheck(
  call: { tool: string; input: JsonObject },
  { command, workspace, timeoutMs }: { command: string; workspace: string; timeoutMs: number },
  signal: AbortSignal,
  launch: (command: LaunchCommand) => Promise<LaunchedProgram>,
): Promise<Checked> {
  const program = await launch({ argv: ['/bin/sh', '-c', command], cwd: workspace })
  const late = timeoutSignal(timeoutMs)
  const killed = killOnAbort(program, AbortSignal.any([signal, late]))
  try {
    program.stdin.end(`${JSON.stringify(call)}\n`)
    const [said, complaint] = [gather([program.stdout]), gather([program.stderr])]
    const { code, signal: killedBy } = await program.exited
    await untilDrained(program)
    // A check that was stopped may still exit 0 or 1.
    const isLate = late.aborted || signal.aborted
    if (code === 0 && !isLate) return { found: 'done', output: said() }
    if (code === 1 && !isLate) return { found: 'not_done', output: said() }
    const how = late.aborted
      ? `was stopped after ${Math.round(timeoutMs / 1000)} s`
      : killedBy === null
        ? `exited ${code}`
        : `was killed by ${killedBy}`
    const words = complaint().subarray(0, COMPLAINT_BYTES_MAX).toString('utf8').trim()
    return { found: 'unknown', output: Buffer.from(`The check ${how}${words === '' ? '' : `: ${words}`}`) }
  } finally {
    killed.close()
    await program.kill(0)
  }
}
