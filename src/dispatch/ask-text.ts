/** The request of a waiting agent as a label and a text: `asks` `Which colour?`, or `asks to run` `shell: make`. */
import type { WaitView } from '../schema/output.js'
import { askOperator } from '../turn/tools/ask-operator.js'
import { awaitExternal } from '../turn/tools/await-external.js'
import { callText } from './call-text.js'

export function askText(
  { kind, asks }: Pick<WaitView, 'kind' | 'asks'>,
  ask: WaitView['asks'][number],
): [label: string, text: string] {
  const { question, what } = ask.input
  if (kind === 'tool_result') {
    const text = ask.tool === awaitExternal.name && typeof what === 'string' ? what : callText(ask)
    return ['awaits', asks.length === 1 ? text : `${text} (--call ${ask.call_id})`]
  }
  if (ask.tool === askOperator.name && typeof question === 'string') return ['asks', question]
  return [kind === 'input' ? 'asks' : 'asks to run', callText(ask)]
}
