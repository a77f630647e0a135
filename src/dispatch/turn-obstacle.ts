/**
 * Whether an agent may take a turn, and if not, why, and what a person can do next. Every command and tool asks this
 * function.
 *
 * It is pure: it reads only the state, this host in a home that several share, and the clock for a turn that waits for a time.
 * It does not cover the reasons of a command: a stop signal, its turn budget, the agent's lock.
 */
import { SubstratError, shellWord } from '../errors.js'
import { CHANNEL } from '../format.js'
import { readClock } from '../host/identity.js'
import { hostLabel } from '../provider/other-host.js'
import { formatAmounts } from '../session/budget/caps.js'
import type { State, Wait } from '../session/state.js'
import { isBesideProgram, isDue, isExhausted, isOutcomeUnknown, openWait } from '../session/status.js'
import { type Host, hostWord, otherHost } from '../session/workspace-host.js'
import type { Store } from '../storage/store.js'

/**
 * `mail`: a turn of its own for a pending message. `message`: one for a message that a person sends now.
 * `continuation`: the latest turn, continued by a command that was not asked to. `poke`: the same, because the parent
 * asked. `resume`: because a person asked.
 */
export type TurnKind = 'mail' | 'message' | 'continuation' | 'poke' | 'resume'

/** `next`: the command to run; null if none helps. */
export type Obstacle =
  | { kind: 'terminated'; next: null }
  /** Its workspace and its native session are on another host. */
  | { kind: 'host'; host: string; next: string }
  /** The latest turn is parked: for a decision or an answer, or for a time. */
  | { kind: 'wait'; wait: Wait; next: string }
  /** Automatic attempts to continue the latest turn are used up. */
  | { kind: 'exhausted'; next: string }
  | Closure
  /** A program of the latest turn may still run. */
  | { kind: 'program'; next: string }
  /** A tool call of the latest turn was cut short, and a person decides whether the turn goes on. */
  | { kind: 'unknown'; next: string }

/** The operator or the parent blocked the agent's turns. Other files use these words in their messages. */
export interface Closure {
  kind: 'hold' | 'gate'
  code: 'ON_HOLD' | 'GATED'
  /** The agent is … */
  is: string
  /** … until you … it. */
  until: string
  next: string
}

/** The obstacle to remove first. Undefined: the agent may run the turn. */
export function turnObstacle(
  store: Pick<Store, 'isShared'>,
  state: State,
  turn: TurnKind,
  now = readClock,
): Obstacle | undefined {
  if (state.state === 'terminated') return { kind: 'terminated', next: null }
  const other = otherHost(store, state)
  if (other !== undefined) return { kind: 'host', host: hostWord(other), next: takingOver(state) }
  const word = shellWord(state.path)
  const resume = `substrat resume ${word}`
  const wait = openWait(state)
  // Mail never runs before a parked turn, even if that turn may be continued now.
  if (wait !== null && turn !== 'message' && (turn === 'mail' || !isDue(wait, now())))
    return { kind: 'wait', wait, next: nextOfWait(wait, word) }
  if (turn === 'continuation' && isExhausted(state)) return { kind: 'exhausted', next: resume }
  const declaration = declarationOf(state)
  // This host cannot tell whether a program of another host still runs, so no command continues beside it.
  if (turn === 'resume') return declaration === undefined ? undefined : { kind: 'program', next: declaration }
  if (state.hold) return { kind: 'hold', code: 'ON_HOLD', is: 'on hold', until: 'resume', next: resume }
  if (isGatedShut(state))
    return { kind: 'gate', code: 'GATED', is: 'gated', until: 'ungate', next: `substrat ungate ${word}` }
  if (state.provider_name === CHANNEL)
    return {
      ...{ kind: 'gate', code: 'GATED', is: 'a channel' },
      ...{ until: 'run', next: `substrat channel run ${word}` },
    }
  if (isBesideProgram(state)) return { kind: 'program', next: declaration ?? resume }
  return isOutcomeUnknown(state) ? { kind: 'unknown', next: resume } : undefined
}

/** The command that makes this the host of the agent. */
function takingOver({ path }: State): string {
  return `substrat set ${shellWord(path)} --workspace DIR --here`
}

/** Call it before a turn stores anything. Throws OTHER_HOST. */
export function refuseElsewhere(store: Pick<Store, 'isShared'>, state: State): void {
  const host = otherHost(store, state)
  if (host !== undefined) throw elsewhereError(state, host)
}

export function elsewhereError(state: State, host: Host): SubstratError {
  const { host_id = null, host_name = null } = host
  return new SubstratError(
    'OTHER_HOST',
    `${state.path} belongs to the host ${hostWord(host)}: its workspace and its sessions are there`,
    {
      hint: `run the command there; or, to continue here: ${takingOver(state)}; to allow every host: substrat set ${shellWord(state.path)} --workspace-scope any`,
      facts: { agent_id: state.id, host_id, host_name },
    },
  )
}

/** The command with which a person declares the host of the turn's programs gone. Undefined if they are on this host. */
export function declarationOf(state: State): string | undefined {
  const { run, recovery } = state
  const [group] = recovery.interruption?.reason === 'other_host' ? (run?.left?.groups ?? []) : []
  return group && `substrat recover --host-gone ${shellWord(hostLabel(state, group))}`
}

/** A gated agent takes a turn only for each permit. */
function isGatedShut({ gate }: State): boolean {
  return gate.isGated && gate.permits === 0
}

function nextOfWait(wait: Wait, word: string): string {
  const { kind } = wait
  if (kind === 'not_before') return `substrat resume ${word}`
  if (kind === 'tool_result') return resultCommand(word, wait)
  if (kind === 'budget') return raiseCommand(word, wait)
  return kind === 'input' ? answerCommand(word) : `substrat approve ${word}`
}

/** The commands with which the operator decides a parked turn. */
export function decisionCommands(
  word: string,
  wait: Pick<Wait, 'kind' | 'call_ids' | 'why' | 'missing'>,
): string {
  const { kind } = wait
  if (kind === 'tool_result') return resultCommand(word, wait)
  if (kind === 'budget')
    return `${raiseCommand(word, wait)}; or let this turn go on: substrat approve ${word} --once; or end it: substrat deny ${word}`
  return kind === 'input' ? answerCommand(word) : `substrat approve ${word}, or substrat deny ${word}`
}

/** Names the thing that a parked turn waits for. */
export function awaitedThing({ kind }: Pick<Wait, 'kind'>): string {
  if (kind === 'tool_result') return 'a result'
  if (kind === 'budget') return 'a larger budget'
  return kind === 'input' ? 'an answer' : 'approval'
}

/** The amounts suffice now. A wait of an older version has only the unit of its cap. */
function raiseCommand(word: string, { why = '', missing }: Pick<Wait, 'why' | 'missing'>): string {
  const [, unit = 'tokens'] = /, (\w+)=/.exec(why) ?? []
  const amounts = missing === undefined ? '' : formatAmounts(missing)
  return `substrat approve ${word} --add ${amounts === '' ? `${unit}=NUMBER` : amounts}`
}

/** Without `--call`, a wait for several results would refuse the command after it has rotated the token. */
function resultCommand(word: string, { call_ids }: Pick<Wait, 'call_ids'>): string {
  const call = call_ids.length > 1 ? ' --call CALL_ID' : ''
  return `substrat token rotate ${word} | substrat resume ${word} --token -${call} --result FILE`
}

function answerCommand(word: string): string {
  return `substrat answer ${word} '…'`
}
