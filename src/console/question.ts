/** Asks a person at the terminal what an agent asks. */

import { askText } from '../dispatch/ask-text.js'
import { isPlainObject } from '../format.js'
import type { PendingAsk } from '../operations/pending-calls.js'
import { printableText } from './output.js'
import { readLine } from './prompt.js'
import { stderr } from './stdio.js'

interface Question {
  text: string
  /** Answers to choose from. Any other text is an answer too. */
  choices: string[]
}

/** Undefined for an empty answer and at the end of the input: nothing is answered. */
export async function askQuestion(ask: PendingAsk, signal?: AbortSignal): Promise<string | undefined> {
  const questions = questionsOf(ask)
  const answers: string[] = []
  for (const { text, choices } of questions) {
    const listed = choices.map((choice, at) => `  ${at + 1}. ${indented(choice)}`)
    stderr.write(`${printableText([`${ask.path} asks: ${indented(text)}`, ...listed].join('\n'), stderr)}\n`)
    const how = choices.length === 0 ? 'Your answer' : `Your answer, or a number from 1 to ${choices.length}`
    const line = (await readLine(`${how} (Enter: later): `, signal))?.trim()
    if (line === undefined || line === '') return undefined
    answers.push(/^\d+$/.test(line) ? (choices[Number(line) - 1] ?? line) : line)
  }
  const [only = ''] = answers
  if (answers.length <= 1) return only
  return questions.map(({ text }, at) => `${text} ${answers[at]}`).join('\n')
}

/** Agent programs ask several questions at once, with choices: `{questions: [{question, options: [{label}]}]}`. */
function questionsOf({ calls }: PendingAsk): Question[] {
  const questions = calls.flatMap((call) => {
    const listed = Array.isArray(call.input.questions) ? call.input.questions : []
    const several = listed.flatMap((each: unknown) =>
      isPlainObject(each) && typeof each.question === 'string'
        ? [{ text: each.question, choices: labelsOf(each.options) }]
        : [],
    )
    const [, text] = askText({ kind: 'input', asks: [] }, call)
    return several.length > 0 ? several : [{ text, choices: [] }]
  })
  return questions.length > 0 ? questions : [{ text: 'a question that its log does not have', choices: [] }]
}

function labelsOf(options: unknown): string[] {
  if (!Array.isArray(options)) return []
  return options.flatMap((option: unknown) => {
    const label = isPlainObject(option) ? option.label : option
    return typeof label === 'string' ? [label] : []
  })
}

/** Further lines cannot imitate another line of output. */
function indented(text: string): string {
  return text.trimEnd().replaceAll('\n', '\n    ')
}
