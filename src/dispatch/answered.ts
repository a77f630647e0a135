/** Messages with a key: whether one was answered before, or is being answered. */
import { readableTime } from '../clock.js'
import { SubstratError } from '../errors.js'
import { digestOf } from '../session/ids.js'
import { readPastRun } from '../session/past-run.js'
import type { KeyEntry, State } from '../session/state.js'
import type { Context } from './context.js'
import { failureOf, nameOf, type Outcome } from './outcome.js'
import { viewTurn } from './view.js'

export interface KeyedMessage {
  key: string | null
  content: string
  /** Ask again where the run of that key failed. */
  retry: boolean
}

export function answeredInLog(ctx: Context, state: State, request: KeyedMessage): Outcome | undefined {
  if (request.key !== null && state.lost?.keys.includes(request.key)) throw lostKey(state, request.key)
  const entry = state.keys.find(({ key }) => key === request.key)
  return entry === undefined ? undefined : answerOf(ctx, state, request, entry)
}

/** Undefined where the message has to run (again). */
function answerOf(ctx: Context, state: State, request: KeyedMessage, entry: KeyEntry): Outcome | undefined {
  const run = readPastRun(ctx.store, state.id, entry)
  if (run.digest !== digestOf(request.content)) throw keyConflict(state, request)
  const isAnswer = run.status === 'completed' || (run.status === 'failed' && !request.retry)
  if (!isAnswer) return undefined
  for (const record of run.records) ctx.reporter.record(record, state.id)
  ctx.reporter.note(
    `this message was sent before, with the same key, and ${run.status} at ${readableTime(run.ended_at ?? run.started_at)}`,
  )
  return {
    result: viewTurn(ctx.store, state, run, run.reply),
    failure: failureOf(nameOf(state), run, undefined),
  }
}

export function isOwnTurn({ run }: State, { key, content }: Pick<KeyedMessage, 'key' | 'content'>): boolean {
  return key !== null && run?.key === key && run.digest === digestOf(content)
}

/** Whether it was answered nobody knows: it is not taken a second time. */
function lostKey(state: State, key: string): SubstratError {
  const kept = state.lost?.kept.join(', ')
  return new SubstratError(
    'CORRUPT',
    `what became of the message to ${nameOf(state)} with the key ${JSON.stringify(key)} was in a part of its log that was damaged`,
    {
      hint: `look for it in what was kept of that log (${kept}), or send it with another key`,
      facts: { agent_id: state.id, key },
    },
  )
}

export function keyConflict(state: State, request: Pick<KeyedMessage, 'key'>): SubstratError {
  return new SubstratError(
    'KEY_CONFLICT',
    `the key ${JSON.stringify(request.key)} was used with another message to ${nameOf(state)}`,
    {
      hint: 'send it with a key of its own',
      facts: { agent_id: state.id, key: request.key },
    },
  )
}
