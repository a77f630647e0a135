/** Records each step and the output of each command. The oracle judges the home by it. */
import type { Told } from './host.js'
import type { Words } from './person.js'
import type { Command, Step } from './steps.js'

export interface Done {
  command: Command
  words: Words
  told: Told
  /** The commands that the twin runs in its place. */
  inTwin: string[][]
}

export interface StepDone {
  step: Step
  done: Done[]
  /** Whether a kill, a cut or a disk fault happened, and recovery followed. */
  isHarmed: boolean
}

export interface Story {
  steps: StepDone[]
  /** Agents that the user removed. */
  removed: Set<string>
}

/** Storage failures: allowed only for a command that met a planned fault. */
const OF_STORAGE = [11, 15]
/** Bug or damage: these statuses must not occur. */
const NEVER = [1, 10]

/** Reports exit statuses that break the contract in any state of the home. */
export function* exitsAreOfTheContract({ command, told }: Done, isAlone: boolean): Iterable<string> {
  const { action } = command
  const { status, isHarmed, stderr } = told
  const what = `substrat ${told.argv.join(' ').slice(0, 200)} ended with ${status}: ${stderr.trim().slice(0, 500)}`
  if (/^\s+at .+:\d+:\d+\)?$/m.test(stderr)) yield `no command prints a stack trace: ${what}`
  if (typeof status !== 'number') {
    if (!isHarmed) yield `only a killed command dies by a signal: ${what}`
    return
  }
  if (NEVER.includes(status)) yield `no command finds a bug or damage: ${what}`
  if (OF_STORAGE.includes(status) && !isHarmed) yield `storage errors occur only with a disk fault: ${what}`
  if (status === 2 && action.do !== 'decide') yield `the command line is valid: ${what}`
  if (status === 8) yield `the provider exists: ${what}`
  if (
    action.do === 'decide' &&
    ['foreign', 'forged', 'malformed'].includes(action.by) &&
    ![2, 3, 13].includes(status) &&
    !isHarmed
  )
    yield `a wrong token decides nothing: ${what}`
  if (status === 4 && isAlone) yield `an agent is not busy if nothing else runs: ${what}`
}
