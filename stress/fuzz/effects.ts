/**
 * Harms one command at each of its disk changes, while the home has other work that recovery does. The twin must run only
 * what the harmed command did itself. Otherwise the fuzzer reports the work of recovery as a defect of the program.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openHosts } from './hosts.js'
import { PACES } from './pace.js'
import type { Program } from './program.js'
import type { Action, Command, Harm, Step } from './steps.js'
import { tell } from './tell.js'
import { type Trial, tryOut } from './trial.js'

export interface EffectsFound {
  /** How many commands were harmed. */
  harmed: number
  failures: string[]
}

/** More than any of these commands changes the disk. */
const CHANGES_MAX = 200

const HARMS: ((at: number) => Harm)[] = [
  (at) => ({ harm: 'fault', at, errno: 'EIO' }),
  (at) => ({ harm: 'kill', at }),
  (at) => ({ harm: 'cut', at }),
]

const BORN: Action = { do: 'spawn', at: 'a', prompt: null, ifExists: 'fail' }
const LEAF: Program = {}
const FAILING: Program = { fail: 'invalid', times: 1 }
const COMPLETING: Program = { rounds: [[{ name: 'complete', input: { result: 'all is done' } }]] }
const SPAWNING: Program = { rounds: [[{ name: 'spawn_agent', input: { name: 'c1' }, sends: COMPLETING }]] }
const ASKING: Program = { rounds: [[{ name: 'ask_operator', input: { question: 'which?' } }]] }
const QUEUED: Action = send('queue', SPAWNING)

/** The last command of each is harmed. Before it, the home has a turn that only recovery runs. */
const HISTORIES: Record<string, Action[]> = {
  terminate: [BORN, send('direct', SPAWNING), { do: 'terminate', at: 'a', recursive: true }],
  retry: [BORN, send('direct', FAILING), send('queue', LEAF), { do: 'retry', at: 'a' }],
  fork: [BORN, send('direct', LEAF), QUEUED, { do: 'fork', at: 'a' }],
  spawn: [BORN, QUEUED, { do: 'spawn', at: 'b', prompt: COMPLETING, ifExists: 'fail' }],
  cancel: [
    BORN,
    send('direct', ASKING),
    { do: 'spawn', at: 'a/x', prompt: null, ifExists: 'fail' },
    send('queue', SPAWNING, 'a/x'),
    { do: 'cancel', at: 'a', recursive: true },
  ],
}

function send(how: 'direct' | 'queue', program: Program, at = 'a'): Action {
  return {
    do: 'send',
    at,
    how,
    drains: false,
    program,
    key: 'none',
    ifWaiting: 'supersede',
    turnTimeout: false,
  }
}

/** `of` is a command, or `all`. A command alone is harmed by an error only, which is a third of the cases. */
export async function sweepEffects(of: string): Promise<EffectsFound> {
  const found: EffectsFound = { harmed: 0, failures: [] }
  const directory = mkdtempSync(join(tmpdir(), 'substrat-fuzz-'))
  const hosts = await openHosts('in-process')
  const harm = (actions: Action[], last: Harm): Promise<Trial> => {
    const steps = actions.map((action, index) => stepOf(action, index === actions.length - 1 ? last : null))
    const sequence = { salt: 1, hasTwin: true, steps }
    return tryOut((name, salt) => hosts.make(name, salt, PACES['in-process']), directory, sequence)
  }
  try {
    for (const [name, actions] of Object.entries(HISTORIES).filter(([name]) => of === name || of === 'all'))
      for (const harmAt of of === 'all' ? HARMS : HARMS.slice(0, 1))
        for (let at = 1; at < CHANGES_MAX; at++) {
          const { violations, story } = await harm(actions, harmAt(at))
          if (violations.length > 0)
            found.failures.push([`${name}:`, ...tell(story), ...violations].join('\n'))
          // The command ended before that disk change.
          if (story.at(-1)?.isHarmed !== true) break
          found.harmed += 1
        }
  } finally {
    hosts.close()
    rmSync(directory, { recursive: true, force: true })
  }
  return found
}

function stepOf(action: Action, harm: Harm | null): Step {
  const command: Command = { action, harm, startMs: 0 }
  return { kind: 'commands', commands: [command], recoveryHarms: [], clockOffMs: 0 }
}
