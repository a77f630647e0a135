/**
 * A decision about a parked run: with the token (`resume --token`), or by the operator (`approve`, `deny`, `answer`).
 *
 * One batch, under the agent's lock, consumes the token, records the decision and continues the run. A command that is
 * killed before this batch has decided nothing. A command that repeats the decision after it returns the outcome.
 */
import { clock, readableTime } from '../clock.js'
import { callText } from '../dispatch/call-text.js'
import { refuseInTool } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { keyConflict } from '../dispatch/keyed-message.js'
import { byText, endOfLatestWait, endOfWaitOn, endText } from '../dispatch/last-decision.js'
import { type OnOutcome, type Outcome, wordOf } from '../dispatch/outcome.js'
import { type Visit, visitAndFinish } from '../dispatch/own-visit.js'
import { awaitedThing, decisionCommands, refuseElsewhere } from '../dispatch/turn-obstacle.js'
import { decideTurn } from '../dispatch/turns.js'
import { asksOf, viewTurn } from '../dispatch/view.js'
import { visit } from '../dispatch/visit.js'
import { SessionStateError, SubstratError } from '../errors.js'
import { readClock } from '../host/identity.js'
import type { Amounts } from '../schema/budget.js'
import type { TurnResult } from '../schema/output.js'
import type { Actor, Ask } from '../schema/types.js'
import { BUDGET_UNITS, type Decision } from '../schema/words.js'
import { readerHere } from '../session/actor.js'
import { FIELDS } from '../session/budget/caps.js'
import { isSameKey } from '../session/key-hashes.js'
import type { Session } from '../session/session.js'
import type { State, TokenEntry, Wait } from '../session/state.js'
import { howEnded, openWait } from '../session/status.js'
import type { Store } from '../storage/store.js'
import { TurnBudget } from '../turn/budget/turn-budget.js'
import {
  alreadyDecided,
  checkToken,
  type Decided,
  digestDecision,
  findToken,
  lapsedToken,
  rotation,
} from '../turn/tokens.js'
import { cappedResult } from '../turn/tools/toolbox.js'
import { alwaysRecords, type CallEdit, edited, editRecords } from './approved-calls.js'
import { outcomeOfDecided } from './decided-elsewhere.js'

export interface DecisionRequest {
  agentId: string
  /** The secret; null for the operator, who needs none. */
  token: string | null
  /** For the operator: decide only if the run waits for this token. */
  tokenId: string | null
  decision: Decision
  /** With an approval: also allow these calls from the next turn on. */
  always?: boolean
  /** With an approval: these calls run with these arguments. */
  edits?: CallEdit[]
  /** For the operator: repeating the key returns the first outcome. */
  key?: string | null
  /** The reason of a denial, the input, or the result. */
  text: string
  /** The result is an error. */
  isFailed?: boolean
  /** With the approval of a wait for a budget. */
  grant?: { amounts?: Amounts; once?: true }
  /** The call that gets the result; null: the only one of the wait. */
  call?: string | null
  /** The one who decides. Undefined: the actor of this process. */
  actor?: Actor
}

/** `onOutcome` is called once, when the run has ended or is parked again. */
export async function decide(ctx: Context, request: DecisionRequest, onOutcome: OnOutcome): Promise<void> {
  refuseInTool(ctx.caller, 'decide or answer for an agent')
  await visitAndFinish(ctx, request.agentId, onOutcome, (visit) => decideIn(visit, request))
}

async function decideIn(visit: Visit, request: DecisionRequest): Promise<void> {
  const { ctx, session } = visit
  const entry =
    request.token === null
      ? keyedEntry(session.state, request.key ?? null)
      : findToken(session.state, request.token)
  if (entry?.status === 'consumed') return visit.report(await decidedBefore(visit, entry, request))
  if (entry !== undefined) checkToken(session.state, entry, readClock())
  const wait = waitOf(ctx.store, session.state, entry?.token_id ?? request.tokenId)
  checkDecision(session.state, wait, request)
  refuseElsewhere(ctx.store, session.state)
  const asked = asksOf(session, wait)
  const asks = (asked ?? []).map((ask) => edited(ask, request.edits))
  const { decision, text, isFailed = false, key = null } = request
  if (request.token === null) {
    // Report the decision only once it is durable: without a free slot, nothing is recorded.
    session.onceDurable('token.consumed', () => {
      for (const ask of asks) ctx.reporter.note(decidedText(ask, decision, text))
    })
  }
  // The operator has no secret and needs none: the same batch replaces the token that was issued.
  const { records, token_id } =
    entry === undefined
      ? rotation(session.state, asked, wait.deadline_at as string)
      : { records: [], token_id: entry.token_id }
  // One batch: a kill allows the calls and approves them, or neither.
  const allowed = request.always === true ? alwaysRecords(ctx, session, asks, request.edits) : []
  const digest = digestDecision(decision, text, request)
  const call_id = decision === 'result' ? calledFor(session.state, wait, request) : undefined
  const given = givenText(session, request)
  const decided = {
    token_id,
    decision,
    digest,
    rotation: [...allowed, ...records],
    isFailed,
    call_id,
    key,
    actor: request.actor,
    ...(request.grant === undefined ? {} : { grant: grantNow(visit, wait, request.grant) }),
    ...(request.edits === undefined ? {} : { edits: editRecords(session, asks, request.edits) }),
    ...given,
  }
  // With a token or a key, a repeated decision returns the outcome of the first. Without, it could decide about later calls.
  const not =
    request.token === null && key === null ? 'do not decide again: the decision is stored' : undefined
  if (wait.kind === 'budget' && decision === 'deny') {
    // The turn ends as the operator wants, so this command has not failed.
    const run = await decideTurn(ctx, session, decided, asks, { isLast: () => true })
    return visit.report({ result: viewTurn(ctx.store, session.state, run, null), wasStopped: true })
  }
  await visit.begin((options) => decideTurn(ctx, session, decided, asks, options), not)
}

/** The amounts are added in the windows of this moment. */
function grantNow(
  { ctx, session }: Visit,
  wait: Wait,
  grant: NonNullable<DecisionRequest['grant']>,
): NonNullable<Decided['grant']> {
  if (grant.amounts === undefined) return grant
  const budget = TurnBudget.of(session, ctx.bounds.budget, ctx.command)
  const units = BUDGET_UNITS.filter((unit) => grant.amounts?.[FIELDS[unit]] !== undefined)
  const uncounted = units.find((unit) => budget !== undefined && !budget.counts(unit))
  if (uncounted !== undefined)
    throw wrongDecision(
      session.state,
      wait,
      `no cap over it counts ${uncounted}, so more of that changes nothing`,
    )
  return { ...grant, windows: budget?.windowsNow() ?? {} }
}

/** The token that an earlier answer with this key consumed. */
function keyedEntry({ tokens }: State, key: string | null): TokenEntry | undefined {
  return key === null
    ? undefined
    : tokens.findLast((entry) => entry.key !== undefined && isSameKey(entry.key, key))
}

/** Limits a supplied result to the size of a tool's result. */
function givenText(session: Session, { decision, text }: DecisionRequest): Pick<Decided, 'text' | 'output'> {
  if (decision !== 'result') return { text }
  const { content, whole } = cappedResult(Buffer.from(text), false)
  return { text: content, ...(whole === null ? {} : { output: session.writeBlob(whole) }) }
}

const WORDS: Record<Decision, string> = {
  approve: 'approved',
  deny: 'denied',
  input: 'answered',
  result: 'supplied the result of',
}

function decidedText(ask: Ask, decision: Decision, text: string): string {
  if (decision !== 'input') return `${WORDS[decision]} ${callText(ask)}`
  const { question } = ask.input
  return `answered ${typeof question === 'string' ? JSON.stringify(question) : callText(ask)}: ${answerText(text)}`
}

/** Its first line, at most 200 characters. */
function answerText(text: string): string {
  const [line = '', ...more] = text.trim().split('\n')
  const shown = line.slice(0, 200)
  return more.length > 0 || shown !== line ? `${shown} …` : shown
}

/** Replaces a lost token; the old token stops working. */
export async function rotateToken(
  ctx: Context,
  agentId: string,
): Promise<{ result: TurnResult; secret: string }> {
  refuseInTool(ctx.caller, 'rotate a token')
  return visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, continuesTurn: false }, async (session) => {
    const wait = waitOf(ctx.store, session.state, null)
    const expiresAt = new Date(clock.now() + ctx.bounds.tokenLifetimeMs).toISOString()
    const { records, secret } = rotation(session.state, asksOf(session, wait), expiresAt)
    session.append(records)
    const result = viewTurn(ctx.store, session.state, session.state.run, null)
    return { result: { ...result, wait: result.wait && { ...result.wait, token: secret } }, secret }
  })
}

/** Returns the outcome of a repeated decision. If the process of the first one was killed, continues the turn. */
async function decidedBefore(visit: Visit, entry: TokenEntry, request: DecisionRequest): Promise<Outcome> {
  const { session } = visit
  if (entry.digest !== digestDecision(request.decision, request.text, request)) {
    if (request.key != null) throw keyConflict(session.state, { key: request.key })
    const made = endOfWaitOn(visit.ctx.store, session.id, entry.token_id)
    throw alreadyDecided(
      session.state,
      entry,
      request.decision,
      made === undefined ? '' : byText(made, readerHere()),
    )
  }
  return outcomeOfDecided(visit, entry)
}

function waitOf(store: Store, state: State, tokenId: string | null): Wait {
  const wait = openWait(state)
  if (wait === null || wait.resume_token_id === null) {
    const lapsed = lapsedToken(state)
    if (lapsed !== undefined) throw tooLate(state, lapsed)
    const why =
      state.moved === undefined
        ? `is not waiting for a decision${decidedBy(store, state, tokenId)}`
        : howEnded(state)
    throw new SessionStateError(`${state.path} ${why}`, {
      hint: `see its status: substrat show ${wordOf(state)}`,
      facts: { agent_id: state.id },
    })
  }
  if (tokenId === null || tokenId === wait.resume_token_id) return wait
  const before = decidedBy(store, state, tokenId)
  throw new SubstratError('TOKEN_NOT_FOUND', `${state.path} is not waiting for token ${tokenId}${before}`, {
    hint: `its token is ${wait.resume_token_id}: substrat show ${wordOf(state)}`,
    facts: { agent_id: state.id, token_id: wait.resume_token_id },
  })
}

/** Two people may decide at once: the second one learns who was first. Empty if that is unknown. */
function decidedBy(store: Store, { id, run }: State, tokenId: string | null): string {
  const end =
    tokenId !== null
      ? endOfWaitOn(store, id, tokenId)
      : run === null
        ? undefined
        : endOfLatestWait(store, id, run.run_id)
  return end === undefined ? '' : `: it ${endText(end, readerHere())}`
}

function tooLate(state: State, { wait, expires_at }: TokenEntry): SubstratError {
  // A token of format 1 does not name its kind of wait.
  const what = wait === undefined ? 'a decision' : awaitedThing({ kind: wait })
  return new SessionStateError(
    `${state.path} is no longer waiting for ${what}: none came before ${readableTime(expires_at)}`,
    { hint: `let it ask again: substrat resume ${wordOf(state)}`, facts: { agent_id: state.id } },
  )
}

function checkDecision(state: State, wait: Wait, { decision, grant, always, edits }: DecisionRequest): void {
  if (wait.kind === 'budget') {
    checkBudgetDecision(state, wait, { decision, grant, always, edits })
    return
  }
  if (grant !== undefined) throw wrongDecision(state, wait, `${MATTER[wait.kind]}, not for a budget`)
  // An agent program makes its own tool results.
  const isOfModel = state.run?.calls.length !== 0
  const isForOne = wait.kind === 'tool_result' || wait.call_ids.length === 1
  const others = decisionFlags(wait, isOfModel && isForOne)
  if (decision === 'approve' && wait.kind !== 'approval')
    throw wrongDecision(state, wait, `${MATTER[wait.kind]}; use ${others}`)
  if (decision === 'input' && wait.kind !== 'input')
    throw wrongDecision(state, wait, `${MATTER[wait.kind]}; use ${others}`)
  if (decision !== 'result' || (isOfModel && isForOne)) return
  const why = isOfModel
    ? 'a result is for one call, but it asks about several'
    : 'an agent program makes its own tool results'
  throw wrongDecision(state, wait, `${why}; use ${others}`)
}

function checkBudgetDecision(
  state: State,
  wait: Wait,
  {
    decision,
    grant,
    always = false,
    edits,
  }: Pick<DecisionRequest, 'decision' | 'grant' | 'always' | 'edits'>,
): void {
  if (
    decision === 'deny' ||
    (decision === 'approve' && grant !== undefined && !always && edits === undefined)
  )
    return
  throw wrongDecision(
    state,
    wait,
    `${MATTER.budget}; say how much more it gets, or let this turn go on to its end`,
  )
}

const MATTER: Record<Wait['kind'], string> = {
  approval: 'it asks for approval',
  input: 'it asks a question',
  tool_result: 'it waits for a result',
  not_before: 'it waits for a time',
  budget: 'it waits for a larger budget',
}

function decisionFlags({ kind }: Wait, takesResult: boolean): string {
  if (kind === 'tool_result') return '--result or --deny'
  return `${kind === 'input' ? '--input' : '--approve'}${takesResult ? ', --deny or --result' : ' or --deny'}`
}

/** The call that gets the result. Several deferred calls get theirs one by one: each comes from a place of its own, at a time of its own. */
function calledFor(state: State, wait: Wait, { call = null }: DecisionRequest): string {
  const [only] = wait.call_ids
  const ids = wait.call_ids.join(', ')
  if (call !== null && !wait.call_ids.includes(call))
    throw wrongDecision(state, wait, `it does not wait for the call ${call}, but for ${ids}`)
  if (call === null && wait.call_ids.length > 1)
    throw wrongDecision(state, wait, `it waits for several results; name the call with --call: ${ids}`)
  return call ?? (only as string)
}

function wrongDecision(state: State, wait: Wait, why: string): SubstratError {
  return new SubstratError('USAGE', `this decision does not apply to ${state.path}: ${why}`, {
    hint: decisionCommands(wordOf(state), wait),
    facts: { agent_id: state.id },
  })
}
