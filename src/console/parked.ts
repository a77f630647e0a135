/** Asks a person at the terminal what becomes of a parked turn when a message comes. */

import { askText } from '../dispatch/ask-text.js'
import type { WaitView } from '../schema/output.js'
import { oneLine } from './output.js'
import { choose } from './prompt.js'
import { stderr } from './stdio.js'

export type ParkedChoice = 'answer' | 'replace' | 'leave'

/** Only a question can be answered by a message. The end of the input leaves the turn as it is. */
export async function askAboutParked(agent: string, wait: WaitView): Promise<ParkedChoice> {
  const isQuestion = wait.kind === 'input'
  for (const ask of wait.asks) {
    const [label, text] = askText(wait, ask)
    stderr.line(`substrat: ${oneLine(`${agent} ${label}: ${text}`)}`)
  }
  if (wait.kind === 'not_before') stderr.line(`substrat: ${agent} is rate limited`)
  const question = isQuestion
    ? 'Is your message the answer? [a]nswer, [r]eplace the waiting turn, or [l]eave it: '
    : 'Replace the waiting turn with your message? [r]eplace it, or [l]eave it: '
  const words = isQuestion ? (['answer', 'replace', 'leave'] as const) : (['replace', 'leave'] as const)
  return (await choose<ParkedChoice>(question, words)) ?? 'leave'
}
