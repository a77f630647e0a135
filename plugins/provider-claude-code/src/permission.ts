/**
 * What claude asks before it uses a tool, and what it is told.
 *
 * What is not allowed ends the turn: claude is interrupted, which its transcript has as a tool that was not run, and a
 * person is asked. What was approved is done in a later turn, in which claude asks again.
 *
 * One wait is for all that was asked at once. Of a question beside a tool the person is shown both and asked about the
 * tool; the question has a wait of its own after that.
 */
import type { JsonObject, WaitAnswer, WaitAsk } from 'substrat/provider'
import { askedInput, Decisions, decisionPrompt } from '../../shared/src/program/decisions.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'

/** Asks something of the person by itself, and no permission. */
const QUESTION_TOOL = 'AskUserQuestion'

/** The tools of claude that substrat's names of its own tools stand for in `--allow`. */
const TOOLS_OF: Record<string, string[]> = {
  shell: ['Bash', 'BashOutput', 'KillShell'],
  read_file: ['Read', 'Glob', 'Grep', 'LS'],
  write_file: ['Write'],
  edit_file: ['Edit', 'MultiEdit', 'NotebookEdit'],
}

export class Permissions {
  /** What a person is to be asked about. */
  readonly asks: WaitAsk[] = []
  private readonly decisions: Decisions

  constructor(
    private readonly allow: string[],
    decided: WaitAnswer | undefined,
  ) {
    this.decisions = new Decisions(decided?.decision === 'approve' ? toolsOf(decided) : decided)
  }

  /** The `response` to a `can_use_tool`; undefined where a person has to be asked, who is then asked about it. */
  answer(request: JsonObject): JsonObject | undefined {
    const tool = textOf(request.tool_name) ?? ''
    const input = objectOf(request.input) ?? {}
    const ask = { call_id: textOf(request.tool_use_id) ?? tool, tool, input: askedInput(input) }
    const decided = this.isAllowed(tool) ? 'granted' : this.decisions.take(ask)
    if (decided === 'granted') return { behavior: 'allow', updatedInput: input }
    if (decided === 'denied')
      return { behavior: 'deny', message: 'The person whom you asked has denied this.' }
    this.asks.push(ask)
    return undefined
  }

  get kind(): 'approval' | 'input' {
    return this.asks.every(isQuestion) ? 'input' : 'approval'
  }

  private isAllowed(tool: string): boolean {
    // To allow a question would be to answer it with nothing.
    if (tool === QUESTION_TOOL) return false
    return this.allow.some((name) => name === 'all' || name === tool || TOOLS_OF[name]?.includes(tool))
  }
}

/** What claude is told when a person has decided. */
export function promptOfAnswer(answer: WaitAnswer): string {
  if (answer.decision === 'input') return `The person answers: ${answer.text}`
  if (!answer.asks.every(isQuestion)) {
    const isOpen = answer.decision === 'approve' && answer.asks.some(isQuestion)
    return isOpen ? `${decisionPrompt(toolsOf(answer))}\n\n${ASK_AGAIN}` : decisionPrompt(answer)
  }
  if (answer.decision === 'approve') return answer.text === '' ? 'The person says yes.' : answer.text
  const why = answer.text === '' ? '' : ` ${answer.text}`
  return `The person does not answer your question.${why} Decide by yourself, or go on without it.`
}

/** An approval lets tools run; it answers no question that was asked beside them, which waits on its own when it is asked again. */
function toolsOf(answer: WaitAnswer): WaitAnswer {
  return { ...answer, asks: answer.asks.filter((ask) => !isQuestion(ask)) }
}

const ASK_AGAIN =
  'What you asked beside it with AskUserQuestion has no answer yet: once that is done, ask it again, alone.'

function isQuestion({ tool }: WaitAsk): boolean {
  return tool === QUESTION_TOOL
}
