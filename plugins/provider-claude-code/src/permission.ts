/**
 * Answers claude's permission requests.
 *
 * A request that needs the user ends the turn: claude is interrupted, and its transcript records that the tool did
 * not run. In a later turn claude repeats an approved request, which is then granted.
 *
 * All requests made at once are one wait. If a question comes with a tool, the user sees both but decides only about
 * the tool. The question gets its own wait later.
 */
import type { JsonObject, WaitAnswer, WaitAsk } from 'substrat/provider'
import { askedInput, Decisions, decisionPrompt } from '../../shared/src/program/decisions.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'

/** A question for the user, not a permission request. */
const QUESTION_TOOL = 'AskUserQuestion'

/** Claude's tools for each substrat tool name in `--allow`. */
const TOOLS_OF: Record<string, string[]> = {
  shell: ['Bash', 'BashOutput', 'KillShell'],
  read_file: ['Read', 'Glob', 'Grep', 'LS'],
  write_file: ['Write'],
  edit_file: ['Edit', 'MultiEdit', 'NotebookEdit'],
}

export class Permissions {
  /** The requests that the user must decide. */
  readonly asks: WaitAsk[] = []
  private readonly decisions: Decisions

  constructor(
    private readonly allow: string[],
    decided: WaitAnswer | undefined,
  ) {
    this.decisions = new Decisions(decided?.decision === 'approve' ? toolsOf(decided) : decided)
  }

  /** The `response` to a `can_use_tool`. Undefined if the user must decide; the request is then in `asks`. */
  answer(request: JsonObject): JsonObject | undefined {
    const tool = textOf(request.tool_name) ?? ''
    const input = objectOf(request.input) ?? {}
    const ask = { call_id: textOf(request.tool_use_id) ?? tool, tool, input: askedInput(input) }
    const decided = this.isAllowed(tool) ? 'granted' : this.decisions.take(ask)
    if (decided === 'granted') return { behavior: 'allow', updatedInput: input }
    if (decided === 'denied') return { behavior: 'deny', message: 'The user has denied this.' }
    this.asks.push(ask)
    return undefined
  }

  get kind(): 'approval' | 'input' {
    return this.asks.every(isQuestion) ? 'input' : 'approval'
  }

  private isAllowed(tool: string): boolean {
    // Allowing a question would answer it with nothing.
    if (tool === QUESTION_TOOL) return false
    return this.allow.some((name) => name === 'all' || name === tool || TOOLS_OF[name]?.includes(tool))
  }
}

/** The prompt that tells claude the user's decision. */
export function promptOfAnswer(answer: WaitAnswer): string {
  if (answer.decision === 'input') return `The user answers: ${answer.text}`
  if (!answer.asks.every(isQuestion)) {
    const isOpen = answer.decision === 'approve' && answer.asks.some(isQuestion)
    return isOpen ? `${decisionPrompt(toolsOf(answer))}\n\n${ASK_AGAIN}` : decisionPrompt(answer)
  }
  if (answer.decision === 'approve') return answer.text === '' ? 'The user says yes.' : answer.text
  const why = answer.text === '' ? '' : ` ${answer.text}`
  return `The user does not answer your question.${why} Decide by yourself, or continue without an answer.`
}

/**
 * The decision without its questions. An approval does not answer a question that came with the tools: claude asks it
 * again.
 */
function toolsOf(answer: WaitAnswer): WaitAnswer {
  return { ...answer, asks: answer.asks.filter((ask) => !isQuestion(ask)) }
}

const ASK_AGAIN =
  'Your question (AskUserQuestion) has no answer yet. Once that is done, ask it again, without any other call.'

function isQuestion({ tool }: WaitAsk): boolean {
  return tool === QUESTION_TOOL
}
