/**
 * The questions of an agent to a person, from the input of the call that asks them. The terminal, the server and the page read it
 * here, so each offers the same choices and builds the same answer. The page loads this module; it must stay free of zod and of Node.
 */

export interface Question {
  text: string
  /** Answers to choose from. Any other text is an answer too. */
  choices: Choice[]
  takes_several: boolean
}

export interface Choice {
  label: string
  /** Empty if the agent gives none. */
  description: string
}

/**
 * `ask_operator` asks one question. Agent programs ask several at once, with choices:
 * `{questions: [{question, options: [{label}]}]}`. Empty if the input has neither form.
 */
export function questionsIn(input: Record<string, unknown>): Question[] {
  const listed = Array.isArray(input.questions) ? input.questions : []
  return [...listed, input].flatMap((each: unknown) => {
    const { question, options, choices, multiSelect } = fieldsOf(each)
    if (typeof question !== 'string') return []
    return [{ text: question, choices: choicesOf(options ?? choices), takes_several: multiSelect === true }]
  })
}

function choicesOf(listed: unknown): Choice[] {
  if (!Array.isArray(listed)) return []
  return listed.flatMap((each: unknown) => {
    if (typeof each === 'string') return [{ label: each, description: '' }]
    const { label, description } = fieldsOf(each)
    if (typeof label !== 'string') return []
    return [{ label, description: typeof description === 'string' ? description : '' }]
  })
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** `Which branch? (main, next)` */
export function questionText(questions: readonly Question[]): string {
  return questions
    .map(({ text, choices }) =>
      choices.length === 0 ? text : `${text} (${choices.map(({ label }) => label).join(', ')})`,
    )
    .join(' ')
}

/** One answer to all questions: that of a single question as it is, otherwise a line for each, with its question. */
export function answerText(questions: readonly Question[], answers: readonly string[]): string {
  if (answers.length <= 1) return answers[0] ?? ''
  return questions.map(({ text }, at) => `${text} ${answers[at]}`).join('\n')
}
