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

type HarmsAt = ((at: number) => Harm)[]

/** More than any of these commands changes the disk. */
const CHANGES_MAX = 200

const ERRORS: HarmsAt = [(at) => ({ harm: 'fault', at, errno: 'EIO' })]
const KILLS: HarmsAt = [(at) => ({ harm: 'kill', at })]
const HARMS: HarmsAt = [...ERRORS, ...KILLS, (at) => ({ harm: 'cut', at })]

const BORN: Action = { do: 'spawn', at: 'a', prompt: null, ifExists: 'fail' }
/** The machine forgets what was not synced as every fourth command begins: the harmed one must be such a command. */
const LOOK: Action = { do: 'look', with: 'list', at: 'a' }
const LEAF: Program = {}
const FAILING: Program = { fail: 'invalid', times: 1 }
const REFUSED: Program = { fail: 'invalid', times: 1_000_000 }
const COMPLETING: Program = { rounds: [[{ name: 'complete', input: { result: 'all is done' } }]] }
const SPAWNING: Program = { rounds: [[{ name: 'spawn_agent', input: { name: 'c1' }, sends: COMPLETING }]] }
const ASKING: Program = { rounds: [[{ name: 'ask_operator', input: { question: 'which?' } }]] }
const UNALLOWED: Program = { rounds: [[{ name: 'set_metadata', input: { metadata: { a: 'b' } } }]] }
const QUEUED: Action = send('queue', SPAWNING)

interface History {
  /** The last one is harmed. Before it, the home has work that only recovery does. */
  actions: Action[]
  /** After the recovery. */
  later?: Step[]
  /** Unless all are tried: an error only, which is a third of the cases. */
  harms?: HarmsAt
}

const HISTORIES: Record<string, History> = {
  terminate: { actions: [BORN, send('direct', SPAWNING), { do: 'terminate', at: 'a', recursive: true }] },
  retry: { actions: [BORN, send('direct', FAILING), send('queue', LEAF), { do: 'retry', at: 'a' }] },
  fork: { actions: [BORN, send('direct', LEAF), QUEUED, { do: 'fork', at: 'a' }] },
  spawn: { actions: [BORN, QUEUED, { do: 'spawn', at: 'b', prompt: COMPLETING, ifExists: 'fail' }] },
  cancel: {
    actions: [
      BORN,
      send('direct', ASKING),
      { do: 'spawn', at: 'a/x', prompt: null, ifExists: 'fail' },
      send('queue', SPAWNING, 'a/x'),
      { do: 'cancel', at: 'a', recursive: true },
    ],
  },
  // The message is pending behind a decision, so no sync of recovery reaches it, and the power cut may take it.
  queue: {
    actions: [BORN, send('direct', ASKING), LOOK, send('queue', LEAF)],
    later: [{ kind: 'cut' }],
    harms: KILLS,
  },
  // Recovery leaves the interrupted turn of an agent on hold, and the twin has none.
  hold: {
    actions: [
      BORN,
      send('direct', REFUSED),
      { do: 'suspend', at: 'a', hold: true },
      { do: 'retry', at: 'a' },
    ],
    later: [stepOf({ do: 'resume', at: 'a' }, null)],
    harms: KILLS,
  },
  // The kill also takes the token, which the command did not print. The twin has it.
  decide: {
    actions: [BORN, send('direct', UNALLOWED)],
    later: [
      stepOf({ do: 'decide', at: 'a', decision: 'input', by: 'token' }, null),
      stepOf(send('direct', LEAF, 'a', 'none', 'queue'), null),
    ],
    harms: KILLS,
  },
  // The message is stored already. The command replaces the turn that it waits behind.
  again: {
    actions: [
      BORN,
      send('direct', ASKING),
      send('queue', LEAF, 'a', 'new'),
      send('direct', LEAF, 'a', 'again'),
    ],
    harms: KILLS,
  },
}

function send(
  how: 'direct' | 'queue',
  program: Program,
  at = 'a',
  key: 'none' | 'new' | 'again' = 'none',
  ifWaiting: 'supersede' | 'queue' = 'supersede',
): Action {
  return {
    do: 'send',
    at,
    how,
    drains: false,
    program,
    key,
    ifWaiting,
    turnTimeout: false,
  }
}

/** `of` is a history, or `all`. */
export async function sweepEffects(of: string): Promise<EffectsFound> {
  const found: EffectsFound = { harmed: 0, failures: [] }
  const directory = mkdtempSync(join(tmpdir(), 'substrat-fuzz-'))
  const hosts = await openHosts('in-process')
  const harm = ({ actions, later = [] }: History, last: Harm): Promise<Trial> => {
    const steps = actions.map((action, index) => stepOf(action, index === actions.length - 1 ? last : null))
    const sequence = { salt: 3, hasTwin: true, steps: [...steps, ...later] }
    return tryOut((name, salt) => hosts.make(name, salt, PACES['in-process']), directory, sequence)
  }
  try {
    for (const [name, history] of Object.entries(HISTORIES).filter(([name]) => of === name || of === 'all'))
      for (const harmAt of of === 'all' ? HARMS : (history.harms ?? ERRORS))
        for (let at = 1; at < CHANGES_MAX; at++) {
          const { violations, story } = await harm(history, harmAt(at))
          if (violations.length > 0)
            found.failures.push([`${name}:`, ...tell(story), ...violations].join('\n'))
          // The command ended before that disk change.
          if (story[history.actions.length - 1]?.isHarmed !== true) break
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
