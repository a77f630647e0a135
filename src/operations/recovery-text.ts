/** What `recover` found at an agent and what it did, in words for a person. */
import { readableTime } from '../clock.js'
import { whyNotContinued } from '../dispatch/outcome.js'
import type { Row } from '../recovery/table.js'
import type { Run, State } from '../session/state.js'
import { troubleOf } from '../session/trouble.js'

/** `state` is the one that it was left in. */
export function recoveryText(state: State, row: Row, outcome: 'clean' | 'marked' | 'continued'): string {
  const { run } = state
  if (outcome === 'clean' || run === null) return 'nothing to do'
  if (outcome === 'continued') return `went on, ${endOf(run)}`
  if (run.status === 'completed') return finishedSentence(state, row)
  if (run.status !== 'interrupted') return endOf(run)
  return `interrupted, and ${whyNotContinued(state) ?? 'left for the next command to continue'}`
}

function finishedSentence({ provider_name }: State, row: Row): string {
  return row === 'J'
    ? `${provider_name} had finished; its reply was recovered`
    : 'the reply was stored already; its turn is closed now'
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
  not_before: (time: string | null) => readableTime(time ?? ''),
}
