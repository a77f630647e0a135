/**
 * Asks the person at the terminal about a turn that waits, and continues it with the answer, until it no longer waits for
 * this person.
 *
 * Invariants:
 * - No lock is held while the person thinks. A kill then leaves row H of the recovery table, as without the question.
 * - An answer is a decision of `decide`, as that of `approve`, `deny` and `answer`, and only about the wait that was shown.
 */
import { discardTyped } from '../console/prompt.js'
import type { Context } from '../dispatch/context.js'
import type { OnOutcome, Outcome } from '../dispatch/outcome.js'
import { awaitedThing, decisionCommands } from '../dispatch/turn-obstacle.js'
import { SubstratError, shellWord } from '../errors.js'
import { type DecisionRequest, decide } from '../operations/decide.js'
import { decidedElsewhereText, followDecision, isPending } from '../operations/decided-elsewhere.js'
import { type PendingAsk, pendingAsk } from '../operations/pending-calls.js'
import type { RunView } from '../schema/output.js'

/** A part of the command with one outcome. */
export type Work = (onOutcome: OnOutcome) => Promise<void>

/** Whether this is the failure of a run that waits. The failure of a message that found another turn parked is not. */
export function isDecidable(failure: SubstratError | undefined, run: RunView | null): boolean {
  return failure?.code === 'WAITING' && run !== null && failure.facts.run_id === run.id
}

/** `report` gets the last outcome: with `wasAsked` if the person has seen its question and decides later. */
export async function askUntilDone(
  ctx: Context,
  work: Work,
  report: (outcome: Outcome, wasAsked: boolean) => void,
): Promise<void> {
  let next: Work | undefined = work
  while (next !== undefined) {
    let parked: Outcome | undefined
    await next((outcome) => {
      if (isDecidable(outcome.failure, outcome.result.run) && ctx.shutdown.requested === undefined)
        parked = outcome
      else report(outcome, false)
    })
    if (parked === undefined) return
    const decided = await decisionOf(ctx, parked.result.agent.id)
    if (typeof decided === 'string') report(parked, decided === 'later')
    next = typeof decided === 'string' ? undefined : decided
  }
}

/** The work that continues the turn. `unasked`: it waits for no person, but for a result. Throws STOPPED_… after a signal. */
export async function decisionOf(ctx: Context, agentId: string): Promise<Work | 'later' | 'unasked'> {
  const asked = pendingAsk(ctx.store, agentId)
  if (asked === undefined) return 'unasked'
  // Not the default of a signal: the turn is parked, and the line must say so.
  ctx.shutdown.listen()
  const elsewhere = watchFor(ctx, asked)
  const signal = AbortSignal.any([ctx.shutdown.whenRequested, elsewhere.signal])
  try {
    await discardTyped()
    const decision = await askPerson(asked, signal)
    if (ctx.shutdown.requested !== undefined) throw stoppedWhileAsked(ctx, asked)
    if (elsewhere.signal.aborted) await discardTyped()
    else if (decision === undefined) return 'later'
    else return (onOutcome) => decideOnce(ctx, asked, decision, onOutcome)
    return (onOutcome) => follow(ctx, asked, onOutcome)
  } finally {
    elsewhere.close()
  }
}

type PersonsDecision = Pick<DecisionRequest, 'decision' | 'text' | 'always' | 'edits'>

async function askPerson(asked: PendingAsk, signal: AbortSignal): Promise<PersonsDecision | undefined> {
  if (asked.kind === 'input') {
    const { askQuestion } = await import('../console/question.js')
    const text = await askQuestion(asked, signal)
    return text === undefined ? undefined : { decision: 'input', text }
  }
  const { askAboutCalls } = await import('../console/approval.js')
  return askAboutCalls(asked, { signal })
}

/** Another command may have decided between the question and the answer. */
async function decideOnce(
  ctx: Context,
  asked: PendingAsk,
  decision: PersonsDecision,
  onOutcome: OnOutcome,
): Promise<void> {
  const { agentId, token_id: tokenId } = asked
  try {
    await decide(ctx, { agentId, token: null, tokenId, ...decision }, onOutcome)
  } catch (error) {
    const isLate =
      error instanceof SubstratError &&
      (error.code === 'TOKEN_NOT_FOUND' || error.code === 'SESSION_STATE') &&
      !isPending(ctx.store, asked)
    if (!isLate) throw error
    await follow(ctx, asked, onOutcome)
  }
}

async function follow(ctx: Context, asked: PendingAsk, onOutcome: OnOutcome): Promise<void> {
  ctx.reporter.note(decidedElsewhereText(ctx.store, asked))
  await followDecision(ctx, asked, onOutcome)
}

const LOOK_MS = 500

/** Aborts once the agent no longer waits for this decision. */
function watchFor({ store }: Context, asked: PendingAsk): { signal: AbortSignal; close(): void } {
  const gone = new AbortController()
  const timer = setInterval(() => {
    if (!isPending(store, asked)) gone.abort()
  }, LOOK_MS)
  return { signal: gone.signal, close: () => clearInterval(timer) }
}

function stoppedWhileAsked({ shutdown }: Context, { agentId, path, kind, calls }: PendingAsk): SubstratError {
  const wait = { kind, call_ids: calls.map(({ call_id }) => call_id) }
  const signal = shutdown.requested
  return new SubstratError(
    `STOPPED_${signal as NonNullable<typeof signal>}`,
    `stopped by ${signal}: nothing was decided, and ${path} is still waiting for ${awaitedThing(wait)}`,
    { hint: decisionCommands(shellWord(path), wait), facts: { agent_id: agentId } },
  )
}
