/** The text of `recover`: its finding at an agent, and the repair. */
import { readableTime } from '../clock.js'
import { whyNotContinued } from '../dispatch/outcome.js'
import type { Row } from '../recovery/table.js'
import type { Run, State } from '../session/state.js'
import { troubleOf } from '../session/trouble.js'
import type { Store } from '../storage/store.js'

/** `state` is the state after the recovery. */
export function recoveryText(
  store: Pick<Store, 'isShared'>,
  state: State,
  row: Row,
  outcome: 'clean' | 'marked' | 'continued',
): string {
  const { run } = state
  if (outcome === 'clean' || run === null) return 'nothing to do'
  if (outcome === 'continued') return `continued, ${endOf(run)}`
  if (run.status === 'completed') return finishedSentence(state, row)
  if (run.status !== 'interrupted') return endOf(run)
  return `interrupted; ${whyNotContinued(store, state) ?? 'the next command continues it'}`
}

function finishedSentence({ provider_name }: State, row: Row): string {
  return row === 'J'
    ? `${provider_name} had finished; its reply was recovered`
    : 'the reply was already stored; the turn is now closed'
}

function endOf(run: Run): string {
  const { status, wait } = run
  if (status === 'open' && wait !== null) return `waiting for ${AWAITED[wait.kind](wait.not_before)}`
  const trouble = troubleOf(run)
  return trouble === null ? status : `${status}: ${trouble}`
}

const AWAITED = {
  approval: () => 'approval',
  input: () => 'an answer',
  tool_result: () => 'a result',
  budget: () => 'a larger budget',
  not_before: (time: string | null) => readableTime(time ?? ''),
}
