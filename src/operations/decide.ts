/**
 * A person's decision about a parked run: with the token (`resume --token`), or at the machine (`approve`, `deny`).
 *
 * The consumption of the token, the decision and the going on are one batch, under the agent's lock: whoever is killed
 * before it has decided nothing, and whoever comes after it is told what came of it.
 */
import { clock } from '../clock.js'
import { continueLatest, hasNoMoreTurns } from '../dispatch/advance.js'
import { callText } from '../dispatch/call-text.js'
import { refuseInTool } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { failureOf, nameOf, type OnOutcome, type Outcome, outcomeOf, wordOf } from '../dispatch/outcome.js'
import { runOwnTurn, visitAndDrain } from '../dispatch/own-turn.js'
import { decisionCommands } from '../dispatch/turn-obstacle.js'
import { decideTurn } from '../dispatch/turns.js'
import { type TurnResult, viewTurn } from '../dispatch/view.js'
import { visit } from '../dispatch/visit.js'
import { SessionStateError, SubstratError } from '../errors.js'
import { readClock } from '../host/identity.js'
import type { SettleResult } from '../recovery/settle.js'
import type { Decision } from '../session/fields.js'
import { readContinuedRun } from '../session/past-run.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { State, TokenEntry, Wait } from '../session/state.js'
import { openWait } from '../session/status.js'
import {
  alreadyDecided,
  checkToken,
  type Decided,
  digestDecision,
  findToken,
  rotation,
} from '../turn/tokens.js'
import { cappedResult } from '../turn/tools/toolbox.js'

export interface DecisionRequest {
  agentId: string
  /** The secret; null for a person at the machine, who needs none. */
  token: string | null
  /** For a person at the machine: only if this is what is waited for. */
  tokenId: string | null
  decision: Decision
  /** Why not, or the input, or the result. */
  text: string
}

/** `onOutcome` is called once, when the run has ended or is parked again. */
export async function decide(ctx: Context, request: DecisionRequest, onOutcome: OnOutcome): Promise<void> {
  refuseInTool(ctx.caller, 'decide what an agent is asked')
  await visitAndDrain(ctx, request.agentId, onOutcome, (session, settled, told) =>
    decideIn(ctx, session, settled, request, told),
  )
}

async function decideIn(
  ctx: Context,
  session: Session,
  settled: SettleResult,
  request: DecisionRequest,
  onOutcome: OnOutcome,
): Promise<void> {
  const entry = request.token === null ? undefined : findToken(session.state, request.token)
  if (entry?.status === 'consumed')
    return onOutcome(await decidedBefore(ctx, session, settled, entry, request))
  if (entry !== undefined) checkToken(session.state, entry, readClock())
  const wait = waitOf(session.state, entry?.token_id ?? request.tokenId)
  checkDecision(session.state, wait, request)
  const asked = asksOf(session, wait)
  const asks = asked ?? []
  const { decision, text } = request
  if (request.token === null) {
    // Not before it is so: there may be no slot to go on with.
    session.onceDurable('token.consumed', () => {
      for (const ask of asks) ctx.reporter.note(`${WORDS[decision]} ${callText(ask)}`)
    })
  }
  // A person at the machine has no secret, and needs none: the token that was handed out is replaced in the same batch.
  const { records, token_id } =
    entry === undefined
      ? rotation(session.state, asked, wait.deadline_at as string)
      : { records: [], token_id: entry.token_id }
  const digest = digestDecision(decision, text)
  const decided = { token_id, decision, digest, rotation: records, ...givenText(session, request) }
  await runOwnTurn(ctx, session, onOutcome, (options) => decideTurn(ctx, session, decided, asks, options))
}

/** A result is as large for the model as one that a tool gave. */
function givenText(session: Session, { decision, text }: DecisionRequest): Pick<Decided, 'text' | 'output'> {
  if (decision !== 'result') return { text }
  const { content, whole } = cappedResult(Buffer.from(text), false)
  return { text: content, ...(whole === null ? {} : { output: session.writeBlob(whole) }) }
}

const WORDS: Record<Decision, string> = {
  approve: 'approved',
  deny: 'denied',
  input: 'answered',
  result: 'given the result of',
}

/** A new token in place of one that was lost; the old one is worth nothing any more. */
export async function rotateToken(
  ctx: Context,
  agentId: string,
): Promise<{ result: TurnResult; secret: string }> {
  refuseInTool(ctx.caller, 'rotate a token')
  return visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, goesOn: false }, async (session) => {
    const wait = waitOf(session.state, null)
    const expiresAt = new Date(clock.now() + ctx.bounds.tokenLifetimeMs).toISOString()
    const { records, secret } = rotation(session.state, asksOf(session, wait), expiresAt)
    session.append(records)
    const result = viewTurn(ctx.store, session.state, session.state.run, null)
    return { result: { ...result, wait: result.wait && { ...result.wait, token: secret } }, secret }
  })
}

/** The same decision again is answered with what came of it; where its process was killed, the turn goes on. */
async function decidedBefore(
  ctx: Context,
  session: Session,
  settled: SettleResult,
  entry: TokenEntry,
  { decision, text }: DecisionRequest,
): Promise<Outcome> {
  if (entry.digest !== digestDecision(decision, text)) throw alreadyDecided(session.state, entry)
  const { run } = session.state
  const past = readContinuedRun(ctx.store, session.id, entry.run)
  if (run?.run_id === past.run_id) {
    const wentOn = await continueLatest(ctx, session, {
      auto: false,
      settled,
      isLast: () => hasNoMoreTurns(ctx, session),
    })
    return outcomeOf(ctx, session, wentOn.outcome === 'ran' ? wentOn.run : run)
  }
  return {
    result: viewTurn(ctx.store, session.state, past, past.reply),
    failure: failureOf(nameOf(session.state), past, undefined),
  }
}

function waitOf(state: State, tokenId: string | null): Wait {
  const wait = openWait(state)
  if (wait === null || wait.resume_token_id === null) {
    throw new SessionStateError(`${nameOf(state)} waits for no decision`, {
      hint: `see what it does: substrat show ${wordOf(state)}`,
      facts: { agent_id: state.id },
    })
  }
  if (tokenId === null || tokenId === wait.resume_token_id) return wait
  throw new SubstratError('TOKEN_NOT_FOUND', `${nameOf(state)} does not wait for the token ${tokenId}`, {
    hint: `it waits for ${wait.resume_token_id}: substrat show ${wordOf(state)}`,
    facts: { agent_id: state.id, token_id: wait.resume_token_id },
  })
}

function checkDecision(state: State, wait: Wait, { decision }: DecisionRequest): void {
  const isQuestion = wait.kind === 'input'
  // A program makes its results itself.
  const takesResult = state.run?.calls.length !== 0 && wait.call_ids.length === 1
  const others = `${isQuestion ? '--input' : '--approve'}${takesResult ? ', --deny or --result' : ' or --deny'}`
  if (isQuestion && decision === 'approve')
    throw wrongDecision(state, wait, `it asks a question: answer it with ${others}`)
  if (!isQuestion && decision === 'input') throw wrongDecision(state, wait, `it asks for approval: ${others}`)
  if (decision !== 'result' || takesResult) return
  const why =
    state.run?.calls.length === 0
      ? 'an agent program makes its results itself'
      : 'a result is for one call, and it asks about several'
  throw wrongDecision(state, wait, `${why}: ${others}`)
}

function wrongDecision(state: State, wait: Wait, why: string): SubstratError {
  return new SubstratError('USAGE', `that is no decision for ${nameOf(state)}: ${why}`, {
    hint: decisionCommands(wordOf(state), wait),
    facts: { agent_id: state.id },
  })
}

function asksOf(session: Session, wait: Wait): NewRecord<'run.waiting'>['asks'] {
  const record = session.recordAt(wait.at)
  return record.kind === 'run.waiting' ? record.asks : undefined
}
