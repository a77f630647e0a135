/** The request of a waiting agent as a label and a text: `asks` `Which colour?`, or `asks to run` `shell: make`. */
import { callText } from '../../dispatch/call-text.js'
import type { WaitView } from '../../schema/output.js'
import { askOperator } from '../../turn/tools/ask-operator.js'

export function askText(
  kind: WaitView['kind'],
  ask: WaitView['asks'][number],
): [label: string, text: string] {
  const { question } = ask.input
  if (ask.tool === askOperator.name && typeof question === 'string') return ['asks', question]
  return [kind === 'input' ? 'asks' : 'asks to run', callText(ask)]
}
