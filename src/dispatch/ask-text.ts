/** The request of a waiting agent as a label and a text: `asks` `Which colour?`, or `asks to run` `shell: make`. */
import type { WaitView } from '../schema/output.js'
import { questionsIn, questionText } from '../schema/questions.js'
import { askOperator } from '../turn/tools/ask-operator.js'
import { awaitExternal } from '../turn/tools/await-external.js'
import { callText } from './call-text.js'

export function askText(
  { kind, asks }: Pick<WaitView, 'kind' | 'asks'>,
  ask: WaitView['asks'][number],
): [label: string, text: string] {
  const { what } = ask.input
  if (kind === 'tool_result') {
    const text = ask.tool === awaitExternal.name && typeof what === 'string' ? what : callText(ask)
    return ['awaits', asks.length === 1 ? text : `${text} (--call ${ask.call_id})`]
  }
  const questions = kind === 'input' || ask.tool === askOperator.name ? questionsIn(ask.input) : []
  if (questions.length > 0) return ['asks', questionText(questions)]
  return [kind === 'input' ? 'asks' : 'asks to run', callText(ask)]
}
