/** The words and tones of statuses, ends and interruptions. A tone is a colour; each also has an icon and a word. */
import { inputText } from 'substrat/entries'
import type { ListedAgent, RecordOf, ShownAgent, Wait } from '../api/types.js'
import type { IconName } from './icon-paths.js'

export type Tone = 'run' | 'wait' | 'bad' | 'good' | 'calm'

export interface Look {
  word: string
  tone: Tone
  icon: IconName
}

export const LOOKS = {
  running: { word: 'running', tone: 'run', icon: 'play' },
  waiting: { word: 'waiting', tone: 'wait', icon: 'hand' },
  interrupted: { word: 'interrupted', tone: 'bad', icon: 'bolt' },
  failed: { word: 'failed', tone: 'bad', icon: 'cross' },
  corrupt: { word: 'damaged', tone: 'bad', icon: 'cross' },
  held: { word: 'held', tone: 'calm', icon: 'stop' },
  gated: { word: 'gated', tone: 'calm', icon: 'stop' },
  scheduled: { word: 'scheduled', tone: 'calm', icon: 'hand' },
  idle: { word: 'idle', tone: 'good', icon: 'check' },
  terminated: { word: 'terminated', tone: 'calm', icon: 'stop' },
} as const satisfies Record<string, Look>

/** `needsPerson`: whether the server lists it among the agents that wait for a person. Only an entry of a list says it itself. */
export function lookOf(agent: ListedAgent | ShownAgent['agent'], needsPerson: boolean): Look {
  if ('shown_status' in agent) return LOOKS[agent.shown_status]
  if (agent.state === 'terminated') return LOOKS.terminated
  if (agent.status === 'running' || agent.status === 'waiting') return LOOKS[agent.status]
  if (agent.status !== 'idle') return LOOKS.interrupted
  return needsPerson ? LOOKS.failed : LOOKS.idle
}

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
