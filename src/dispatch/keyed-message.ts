/**
 * Messages with a key: whether one was delivered before, and its outcome.
 *
 * Invariant: a key is delivered at most once, however its turn ended. Only `--retry` delivers the message again.
 */
import { readableTime } from '../clock.js'
import { SubstratError } from '../errors.js'
import type { Message } from '../mail/message.js'
import { deriveId, digestOf } from '../session/ids.js'
import { isSameKey } from '../session/key-hashes.js'
import { findKey } from '../session/key-index.js'
import { type PastRun, readContinuedRun, readPastRun } from '../session/past-run.js'
import type { State } from '../session/state.js'
import { endOfTurn, troubleOf } from '../session/trouble.js'
import type { Store } from '../storage/store.js'
import type { Context } from './context.js'
import { ASK_AGAIN, failureOf, type Outcome } from './outcome.js'
import { readState } from './read-state.js'
import { incompleteOf, viewTurn } from './view.js'

export interface KeyedMessage {
  key: string | null
  content: string
  /** Run the message again if the run of the key ended without completing. */
  retry: boolean
}

/**
 * Undefined if the message must run, or its turn has not ended. `continuesTurn`: whether the caller continues the turn of the
 * key if that is the latest turn and was interrupted.
 */
export function findKeyedOutcome(
  ctx: Context,
  state: State,
  request: KeyedMessage,
  continuesTurn: (state: State) => boolean = isLeftOpen,
): Outcome | undefined {
  const entry = request.key === null ? undefined : findKey(ctx.store, state, request.key)
  if (entry === 'lost') throw lostKey(state, request.key as string)
  if (entry === undefined) return undefined
  const run = readPastRun(ctx.store, state.id, entry)
  if (run.digest !== digestOf(request.content)) throw keyConflict(state, request)
  if (run.status === 'open') return undefined
  if (run.status === 'interrupted' && isLatest(state, run) && continuesTurn(state)) return undefined
  return request.retry && run.status !== 'completed' ? undefined : answerOf(ctx, state, run)
}

function isLatest(state: State, { run_id }: PastRun): boolean {
  return state.run?.run_id === run_id
}

/** Whether the latest run, which was interrupted, can be continued. It cannot if the log was damaged since. */
function isLeftOpen({ recovery }: State): boolean {
  return recovery.interruption !== null
}

function answerOf(ctx: Context, state: State, run: PastRun): Outcome {
  for (const record of run.records) ctx.reporter.record(record, state.id)
  const endedAt = readableTime(run.ended_at ?? run.started_at)
  ctx.reporter.note(
    `this message was already sent with this key; its turn ${run.status === 'open' ? 'began' : endOfTurn(run)} at ${endedAt}`,
  )
  return {
    result: {
      ...viewTurn(ctx.store, state, run, run.status === 'completed' ? run.reply : null),
      ...(run.status === 'completed' ? incompleteOf(run) : {}),
    },
    failure: isLeftBehind(state, run)
      ? leftBehind(state, run)
      : failureOf(state, run, undefined, undefined, isLatest(state, run)),
  }
}

/**
 * Whether an interrupted run can no longer be continued, because a later message replaced it or the log was damaged.
 */
function isLeftBehind(state: State, run: PastRun): boolean {
  return run.status === 'interrupted' && !(isLatest(state, run) && isLeftOpen(state))
}

function leftBehind(state: State, run: PastRun): SubstratError {
  return new SubstratError(
    'INTERRUPTED',
    `the turn of ${state.path} was interrupted and cannot be continued: ${troubleOf(run)}`,
    { hint: ASK_AGAIN, facts: { agent: state.path, run_id: run.run_id, reason: run.reason } },
  )
}

export function isOwnTurn({ run }: State, { key, content }: Pick<KeyedMessage, 'key' | 'content'>): boolean {
  return key !== null && run?.key != null && isSameKey(run.key, key) && run.digest === digestOf(content)
}

const AGENT_OF_KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12} /

/** Each sender has its own keys, so an agent cannot reuse a key of the operator or of another agent. */
export function keyOfAgent(agentId: string, key: string): string {
  return `${agentId} ${key}`
}

/** The message id of a key, so that the same message is stored once. */
export function idOfKey(agentId: string, key: string): string {
  return deriveId(agentId, 'key', key)
}

/** Like `idOfKey`; if the key already had a turn, a new id, because `--retry` sends another message. */
export function nextIdOfKey(store: Store, state: State, key: string): string {
  const entry = findKey(store, state, key)
  if (entry === 'lost') throw lostKey(state, key)
  return entry === undefined ? idOfKey(state.id, key) : deriveId(state.id, 'key', key, String(entry.seq))
}

/** The run that the message with this key started. Undefined if the log has none. */
export function runOfKey(store: Store, agentId: string, key: string): string | undefined {
  const entry = findKey(store, readState(store, agentId), key)
  return entry === undefined || entry === 'lost' ? undefined : readPastRun(store, agentId, entry).run_id
}

/**
 * The latest run of the turn of this message. Undefined if the log does not have its key. Throws KEY_CONFLICT if the key is that of
 * a different message.
 */
export function runOfMessage(
  store: Store,
  agentId: string,
  { key, content }: { key: string; content: string },
): PastRun | undefined {
  const state = readState(store, agentId)
  const entry = findKey(store, state, key)
  if (entry === 'lost') throw lostKey(state, key)
  if (entry === undefined) return undefined
  const run = readContinuedRun(store, agentId, entry)
  if (run.digest !== digestOf(content)) throw keyConflict(state, { key })
  return run
}

/**
 * The run of the key if an agent program was launched for it, or for a run that it continues or repeats. The program
 * may then already know the message.
 */
export function findLaunchedRun(store: Store, state: State, key: string | null): string | undefined {
  const entry = key === null ? undefined : findKey(store, state, key)
  if (entry === undefined || entry === 'lost') return undefined
  const { run_id, records } = readPastRun(store, state.id, entry)
  const isLaunched = records.some(
    (record) =>
      record.kind === 'provider.started' ||
      (record.kind === 'run.started' && record.repeats !== undefined) ||
      (record.kind === 'message.user' && record.origin === 'continuation'),
  )
  return isLaunched ? run_id : undefined
}

/** Whether another command delivered a message with this key while this one was pending. False for a retry. */
export function wasDelivered(
  store: Store,
  state: State,
  { message_id, key, digest }: Pick<Message, 'message_id' | 'key' | 'digest'>,
): boolean {
  const entry = key === null ? undefined : findKey(store, state, key)
  if (key === null || entry === undefined || entry === 'lost') return false
  const run = readPastRun(store, state.id, entry)
  if (run.digest !== digest) return false
  return run.status === 'completed' || message_id === idOfKey(state.id, key)
}

/** The outcome of the key is unknown, so the message is not delivered a second time. */
function lostKey(state: State, key: string): SubstratError {
  const kept = state.lost?.kept.join(', ')
  return new SubstratError(
    'CORRUPT',
    `cannot tell whether ${state.path} ran the message with key ${JSON.stringify(key)}: part of its log was damaged`,
    {
      hint: `search the saved copy of that log, ${kept}, or send the message with another key`,
      facts: { agent_id: state.id, key },
    },
  )
}

export function keyConflict(state: State, request: Pick<KeyedMessage, 'key'>): SubstratError {
  // An agent knows its key without the id before it.
  const key = request.key?.replace(AGENT_OF_KEY, '') ?? null
  return new SubstratError(
    'KEY_CONFLICT',
    `key ${JSON.stringify(key)} was already used for a different message to ${state.path}`,
    {
      hint: 'send this message with another key',
      facts: { agent_id: state.id, key },
    },
  )
}
