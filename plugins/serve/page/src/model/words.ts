/** The words and tones of statuses, ends and interruptions. A tone is a colour; each also has an icon and a word. */
import { inputText } from 'substrat/entries'
import { SHOWN_STATUSES, type ShownStatus, wordOfStatus } from 'substrat/words'
import type { ListedAgent, RecordOf, ShownAgent, Wait } from '../api/types.js'
import type { IconName } from './icon-paths.js'

export type Tone = 'run' | 'wait' | 'bad' | 'good' | 'calm'

export interface Look {
  word: string
  tone: Tone
  icon: IconName
}

const SIGNS: Record<ShownStatus, [Tone, IconName]> = {
  running: ['run', 'play'],
  waiting: ['wait', 'hand'],
  limited: ['wait', 'hand'],
  interrupted: ['bad', 'bolt'],
  held: ['calm', 'stop'],
  gated: ['calm', 'stop'],
  refused: ['bad', 'cross'],
  failed: ['bad', 'cross'],
  timed_out: ['bad', 'cross'],
  cancelled: ['calm', 'stop'],
  scheduled: ['calm', 'hand'],
  idle: ['good', 'check'],
  terminated: ['calm', 'stop'],
  corrupt: ['bad', 'cross'],
}

export function lookOf({ shown_status: status }: Pick<ListedAgent, 'shown_status'>): Look {
  const [tone, icon] = SIGNS[status]
  return { word: wordOfStatus(status), tone, icon }
}

/** A running agent whose process runs no code. */
export const STOPPED: Look = { word: 'running, process stopped', tone: 'bad', icon: 'stop' }

export const LOOKS = SHOWN_STATUSES.map((shown_status) => lookOf({ shown_status }))

/** The interruptions by which a process or a machine died, unlike those that a person asked for. */
export const KILLS: ReadonlySet<string> = new Set(['process_exit', 'process_restart', 'program_killed'])

export const WAIT_WORDS: Record<Wait['kind'], string> = {
  approval: 'Approval',
  input: 'Question',
  tool_result: 'Result from elsewhere',
  not_before: 'Limit',
  budget: 'Budget',
}

export const DECISION_WORDS: Record<RecordOf<'wait.answered'>['decision'], string> = {
  approve: 'approved',
  deny: 'denied',
  input: 'answered',
  result: 'result given',
}

export function nameOf(agent: ListedAgent | ShownAgent['agent']): string {
  return agent.path ?? agent.id.slice(0, 8)
}

/** Why the agent needs a person: one of the sections of the first view. */
export type Need = 'approval' | 'question' | 'result' | 'limit' | 'interrupted' | 'failed' | 'damaged'

export function needOf({ agent, wait }: ShownAgent): Need {
  switch (wait?.kind) {
    case 'approval':
      return 'approval'
    case 'input':
      return 'question'
    case 'tool_result':
      return 'result'
    case 'not_before':
    case 'budget':
      return 'limit'
    default:
      return agent.status === 'idle' ? 'failed' : 'interrupted'
  }
}

/** A call as a person reads it: `shell: npm test`, `write_file: path=notes.md content="…"`. */
export function callText(tool: string, input: Record<string, unknown> | null | undefined): string {
  return `${tool}${inputText(input) === '' ? '' : `: ${inputText(input)}`}`
}
