/** Asks a person at the terminal what an agent asks. */

import type { PendingAsk } from '../operations/pending-calls.js'
import { answerText, type Choice } from '../schema/questions.js'
import { printableText } from './output.js'
import { readLine } from './prompt.js'
import { stderr } from './stdio.js'

/** Undefined for an empty answer and at the end of the input: nothing is answered. */
export async function askQuestion(ask: PendingAsk, signal?: AbortSignal): Promise<string | undefined> {
  const { questions } = ask
  const answers: string[] = []
  for (const { text, choices } of questions) {
    const listed = choices.map((choice, at) => `  ${at + 1}. ${indented(choiceText(choice))}`)
    stderr.write(`${printableText([`${ask.path} asks: ${indented(text)}`, ...listed].join('\n'), stderr)}\n`)
    const how = choices.length === 0 ? 'Your answer' : `Your answer, or a number from 1 to ${choices.length}`
    const line = (await readLine(`${how} (Enter: later): `, signal))?.trim()
    if (line === undefined || line === '') return undefined
    answers.push(/^\d+$/.test(line) ? (choices[Number(line) - 1]?.label ?? line) : line)
  }
  return answerText(questions, answers)
}

function choiceText({ label, description }: Choice): string {
  return description === '' ? label : `${label}: ${description}`
}

/** Further lines cannot imitate another line of output. */
function indented(text: string): string {
  return text.trimEnd().replaceAll('\n', '\n    ')
}
