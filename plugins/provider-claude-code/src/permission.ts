/**
 * What claude asks before it uses a tool, and what it is told.
 *
 * What is not allowed ends the turn: claude is interrupted, which its transcript has as a tool that was not run, and a
 * person is asked. What was approved is done in a later turn, once, and only with the very input that was approved.
 */
import type { JsonObject, WaitAnswer, WaitAsk } from 'substrat/provider'
import { clipped, objectOf, textOf } from '../../program-lines/src/json.js'
import { hashOf } from './state.js'

/** Asks something of the person by itself, and no permission. */
const QUESTION_TOOL = 'AskUserQuestion'

/** The tools of claude that substrat's names of its own tools stand for in `--allow`. */
const TOOLS_OF: Record<string, string[]> = {
  shell: ['Bash', 'BashOutput', 'KillShell'],
  read_file: ['Read', 'Glob', 'Grep', 'LS'],
  write_file: ['Write'],
  edit_file: ['Edit', 'MultiEdit', 'NotebookEdit'],
}

const INPUT_CHARACTERS_MAX = 4000

export class Permissions {
  /** What a person is to be asked about. */
  readonly asks: WaitAsk[] = []
  private readonly granted: string[]

  constructor(
    private readonly allow: string[],
    /** Hashes of what was approved. */
    granted: string[],
  ) {
    this.granted = [...granted]
  }

  /** The `response` to a `can_use_tool`; undefined where a person has to be asked, who is then asked about it. */
  answer(request: JsonObject): JsonObject | undefined {
    const tool = textOf(request.tool_name) ?? ''
    const input = objectOf(request.input) ?? {}
    const ask = { call_id: textOf(request.tool_use_id) ?? tool, tool, input }
    if (this.isAllowed(ask)) return { behavior: 'allow', updatedInput: input }
    this.asks.push(ask)
    return undefined
  }

  get kind(): 'approval' | 'input' {
    return this.asks.every(({ tool }) => tool === QUESTION_TOOL) ? 'input' : 'approval'
  }

  private isAllowed(ask: WaitAsk): boolean {
    // To allow a question would be to answer it with nothing.
    if (ask.tool === QUESTION_TOOL) return false
    if (this.allow.includes('all')) return true
    if (this.allow.some((name) => name === ask.tool || TOOLS_OF[name]?.includes(ask.tool))) return true
    const at = this.granted.indexOf(hashOf(ask))
    if (at === -1) return false
    this.granted.splice(at, 1)
    return true
  }
}

/** What claude is told when a person has decided. */
export function promptOfAnswer({ decision, text, asks }: WaitAnswer): string {
  const calls = asks.filter(({ tool }) => tool !== QUESTION_TOOL)
  const listed = calls.map(
    ({ tool, input }) => `- ${tool} ${clipped(JSON.stringify(input), INPUT_CHARACTERS_MAX)}`,
  )
  if (decision === 'input' || calls.length === 0) {
    if (text !== '') return `Your question was answered: ${text}`
    return decision === 'deny'
      ? 'Your question will not be answered: decide yourself, or go on without it.'
      : 'Yes.'
  }
  if (decision === 'approve') {
    return [
      'What you asked permission for is approved. It has not been done yet: do it now, with exactly this input, and go on.',
      ...listed,
      ...(text === '' ? [] : ['', text]),
    ].join('\n')
  }
  return [
    'What you asked permission for is denied. It has not been done, and you may not do it, nor the same by other means.',
    ...listed,
    ...(text === '' ? [] : ['', `The reason: ${text}`]),
    '',
    'Go on without it, or say why you cannot.',
  ].join('\n')
}
