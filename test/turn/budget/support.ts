/** Agents under caps, with requests of exact sizes. */
import { randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { clock } from '../../../src/clock.js'
import { bootId } from '../../../src/host/identity.js'
import type { Cap } from '../../../src/schema/budget.js'
import type { Session } from '../../../src/session/session.js'
import type { Store } from '../../../src/storage/store.js'
import type { BudgetRules } from '../../../src/turn/budget/scopes.js'
import { type Reserved, TurnBudget } from '../../../src/turn/budget/turn-budget.js'
import { useOf } from '../../../src/turn/budget/use.js'
import { newSession } from '../../support/sessions.js'

export const tokens = (max: number, per?: Cap['per']): Cap[] => [{ unit: 'tokens', max, ...(per && { per }) }]

export function rules(caps: Cap[] = []): BudgetRules {
  return { caps, turn: {}, cachedWeight: 1, zone: () => 'UTC' }
}

export async function agent(store: Store, caps: Cap[] = [], parent: string | null = null): Promise<Session> {
  const session = await newSession(store, { name: randomUUID().slice(0, 8), parent })
  if (caps.length > 0) {
    store.accounts?.open(session.id)
    session.append([{ kind: 'session.configured', budget: caps }])
  }
  return session
}

/** Begins a turn, and a request that holds the tokens if the budgets allow it. */
export async function ask(session: Session, held: number, home: Cap[] = []): Promise<Reserved> {
  const budget = TurnBudget.of(session, rules(home), 'test')
  if (budget === undefined) return { type: 'none' }
  const runId = randomUUID()
  const reserved = await budget.reserve({ runId, isNewTurn: true, tokens: held })
  if (reserved.type !== 'held') return reserved
  const { provider_name: provider, model, options } = session.state
  session.append([
    { kind: 'session.activated', boot_id: bootId() },
    { kind: 'run.started', run_id: runId, boot_id: bootId(), origin: 'operator', provider, model, options },
    reserved.record,
    { kind: 'model.requested', run_id: runId },
  ])
  return reserved
}

export async function answer(session: Session, used: number, home: Cap[] = []): Promise<void> {
  const run_id = session.state.run?.run_id as string
  const usage = { input_tokens: used, output_tokens: 0 }
  session.append([
    { kind: 'message.agent', message_id: randomUUID(), run_id, content: 'done' },
    { kind: 'model.responded', run_id, stop: 'end', usage },
    { kind: 'run.completed', run_id, usage },
    { kind: 'session.suspended', reason: 'idle' },
  ])
  const budget = TurnBudget.of(session, rules(home), 'test')
  await budget?.publish()
}

export function left(store: Store, scope: string, caps: Cap[]): number {
  const [use] = useOf(store, scope, caps, rules(), clock.now())
  return (use?.cap.max ?? 0) - (use?.spent ?? 0) - (use?.held ?? 0)
}

export function setClock(iso: string): void {
  clock.now = () => Date.parse(iso)
}

export function restoreClock(): void {
  const { now } = clock
  onTestFinished(() => void Object.assign(clock, { now }))
}
