/**
 * The durable effect of a command that failed. Only its operation knows it, so the operation attaches it to the error.
 * The advice that the command prints depends on it (src/console/advice.ts).
 *
 * Invariant: an error with an effect never advises to repeat the command, because that would do the work twice.
 */
import { type Facts, SubstratError } from '../errors.js'
import { type Draft, type PostOptions, post } from '../mail/post.js'
import { openForRead } from '../session/load.js'
import type { State } from '../session/state.js'
import { openWait } from '../session/status.js'
import type { Store } from '../storage/store.js'
import { wordOf } from './outcome.js'

export interface Effect {
  /**
   * `stored`: the message is in an inbox. `created`: the agent exists, and has no turn to continue. `begun`: the turn is in the
   * log. `ended`: so is its end. `unknown`: the next command may find it or not.
   */
  effect: 'stored' | 'created' | 'begun' | 'ended' | 'unknown'
  /** The command to run instead of repeating this one. */
  next: string
  /** Says that a person must not repeat it. */
  not: string
  facts: Facts
}

/** For a message of which the inbox or a turn is stored. */
export const NOT_AGAIN = 'do not send the message again'

const effects = new WeakMap<Error, Effect>()

/** The innermost effect counts: it knows most. Returns the error. */
export function withEffect(error: unknown, effect: Effect | undefined): unknown {
  if (effect !== undefined && error instanceof Error && !effects.has(error)) effects.set(error, effect)
  return error
}

export function effectOf(error: unknown): Effect | undefined {
  return error instanceof Error ? effects.get(error) : undefined
}

/** Like `post`. Says in its error whether the message is stored all the same. With a key, it is safe to store it again. */
export function postOnce(store: Store, draft: Draft, options?: PostOptions): boolean {
  try {
    return post(store, draft, options)
  } catch (error) {
    throw draft.key == null
      ? withEffect(error, effectOfPost(store, error, draft.to, draft.message_id))
      : error
  }
}

/** The effect of having stored, or tried to store, the message. */
export function effectOfPost(
  store: Store,
  error: unknown,
  to: string,
  messageId: string,
): Effect | undefined {
  const facts = { agent_id: to, message_id: messageId }
  const find = (): Effect | undefined => {
    const state = openForRead(store, to)?.state
    const isThere = store.mail.ids(to).includes(messageId) || state?.delivered.includes(messageId) === true
    if (state === undefined || !isThere) return undefined
    const next = `deliver the message ${messageId}: substrat deliver ${wordOf(state)}`
    return { effect: 'stored', next, not: NOT_AGAIN, facts }
  }
  return effectFrom(store, error, find, { look: `substrat inbox ${to}`, not: NOT_AGAIN, facts })
}

/** The effect of creating this agent, perhaps with its first turn. */
export function effectOfCreation(
  store: Store,
  error: unknown,
  agentId: string,
  not: string,
): Effect | undefined {
  const facts = { agent_id: agentId }
  const find = (): Effect | undefined => {
    const state = openForRead(store, agentId)?.state
    if (state === undefined) return undefined
    if (state.run !== null) return turnEffect(state, not)
    return { effect: 'created', next: `see the new agent: substrat show ${wordOf(state)}`, not, facts }
  }
  return effectFrom(store, error, find, { look: `substrat show ${agentId}`, not, facts })
}

/** The effect of beginning or continuing a turn. `before` and `after`: the state of the open session. */
export function effectOnTurn(
  store: Store,
  { before, after, error, not }: { before: State; after: State; error: unknown; not: string },
): Effect | undefined {
  if (turnIn(after) !== turnIn(before)) return turnEffect(after, not)
  if (!isOpen(error)) return undefined
  const find = (): Effect | undefined => {
    const seen = openForRead(store, before.id)?.state
    return seen === undefined || turnIn(seen) === turnIn(before) ? undefined : turnEffect(seen, not)
  }
  const facts = { agent_id: before.id }
  return effectFrom(store, error, find, { look: `substrat log ${wordOf(before)}`, not, facts })
}

/** Whether the error leaves it open if the change was made. After any other one it was not. */
function isOpen(error: unknown): boolean {
  return error instanceof SubstratError && ['SYNC_FAILED', 'LOCKED'].includes(error.code)
}

/** Changes when a turn begins, ends, or gets its decision. */
function turnIn(state: State): string {
  const { run } = state
  return `${run?.run_id} ${run?.status} ${openWait(state)?.resume_token_id}`
}

function turnEffect(state: State, not: string): Effect {
  const { run } = state
  const isOver = run !== null && run.status !== 'open' && run.status !== 'interrupted'
  const word = wordOf(state)
  return {
    effect: isOver ? 'ended' : 'begun',
    next: isOver
      ? `see how its turn ended: substrat show ${word}`
      : `continue its turn: substrat resume ${word}`,
    not,
    facts: { agent_id: state.id, ...(run === null ? {} : { run_id: run.run_id }) },
  }
}

/** `find` reads what the next command will see. Where that proves nothing, `look` is the command that shows it later. */
function effectFrom(
  store: Pick<Store, 'isShared'>,
  error: unknown,
  find: () => Effect | undefined,
  { look, not, facts }: Pick<Effect, 'not' | 'facts'> & { look: string },
): Effect | undefined {
  try {
    const found = find()
    // A disk shows all that it holds. A server may still commit a change whose answer was lost.
    if (found !== undefined || !store.isShared || !isOpen(error)) return found
  } catch {
    // It cannot be read now.
  }
  const next = `see whether it took effect: ${look}; only if it did not, repeat the command`
  return { effect: 'unknown', next, not: `otherwise ${not}`, facts }
}
