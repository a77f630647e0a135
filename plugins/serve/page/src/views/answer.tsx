/** The form by which a person answers the questions of an agent: its choices, and a field for any other answer. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { inputText } from 'substrat/entries'
import { answerText, type Question, questionsIn } from 'substrat/questions'
import { call, newKey } from '../api/client.js'
import type { Wait } from '../api/types.js'
import { useAction } from '../parts/action.js'
import { useFocusHandover } from '../parts/focus.js'
import { Prose, Words } from '../parts/text.js'
import { useMay } from '../state/right.js'
import { Deadline } from './asks.js'
import type { Props } from './decisions.js'

export function AnswerForm({ agentId, wait }: Props) {
  const questions = useQuestions({ agentId, wait })
  const mayAnswer = useMay('answer')
  const [isMissing, setMissing] = useState(false)
  // Made once per answer: if the connection is lost, the same answer can be sent again.
  const key = useRef(newKey())
  const { run, isBusy } = useAction()
  const form = useFocusHandover<HTMLFormElement>()
  const change = (): void => {
    key.current = newKey()
    setMissing(false)
  }
  const answer = (event: Event): void => {
    event.preventDefault()
    const answers = answersIn(new FormData(form.current ?? undefined), questions)
    const first = answers.indexOf('')
    if (first >= 0) {
      setMissing(true)
      form.current?.querySelectorAll('textarea')[first]?.focus()
      return
    }
    const body = { text: answerText(questions, answers) }
    void run(() => call('answerQuestion', { agent: agentId, body, key: key.current }), 'Answered')
  }
  if (!mayAnswer) return <QuestionTexts questions={questions} wait={wait} />
  return (
    <form class="decision" ref={form} onSubmit={answer} onInput={change}>
      {questions.map((question, at) => (
        <QuestionFields key={at} id={`${agentId}-${at}`} at={at} question={question} isMissing={isMissing} />
      ))}
      <Deadline wait={wait} />
      {isMissing && (
        <p class="error" role="alert">
          {missingText(questions)}
        </p>
      )}
      <div class="buttons">
        <button type="submit" class="primary" aria-disabled={isBusy}>
          Answer
        </button>
      </div>
    </form>
  )
}

/** For a reader who may not answer. */
function QuestionTexts({ questions, wait }: { questions: Question[]; wait: Wait }) {
  return (
    <div class="decision">
      {questions.map(({ text, choices }, at) => (
        <div key={at} class="question">
          <Prose text={text} />
          {choices.length > 0 && (
            <ul>
              {choices.map(({ label, description }, index) => (
                <li key={index}>
                  <Words text={description === '' ? label : `${label}: ${description}`} />
                </li>
              ))}
            </ul>
          )}
        </div>
      ))}
      <Deadline wait={wait} />
    </div>
  )
}

function missingText(questions: readonly Question[]): string {
  const how = questions.some(({ choices }) => choices.length > 0)
    ? 'Choose an answer or write one'
    : 'Write an answer'
  return questions.length > 1 ? `${how}, for each question.` : `${how} first.`
}

/** The wait has only shortened questions, so the whole ones are read too. */
function useQuestions({ agentId, wait }: Props): Question[] {
  const [whole, setWhole] = useState<Question[]>()
  useEffect(() => {
    const gone = new AbortController()
    void call('showPending', { agent: agentId, signal: gone.signal }).then(
      ({ questions }) => setWhole(questions),
      () => undefined,
    )
    return () => gone.abort()
  }, [agentId, wait.token_id])
  return whole ?? wait.asks.flatMap(shortQuestions)
}

function shortQuestions({ input }: Wait['asks'][number]): Question[] {
  const questions = questionsIn(input)
  return questions.length > 0 ? questions : [{ text: inputText(input), choices: [], takes_several: false }]
}

function QuestionFields(props: { id: string; at: number; question: Question; isMissing: boolean }) {
  const { id, at, question } = props
  const { text, choices, takes_several: takesSeveral } = question
  return (
    <fieldset aria-labelledby={`question-${id}`}>
      <div class="question" id={`question-${id}`}>
        <Prose text={text} />
      </div>
      {choices.map(({ label, description }, index) => (
        <label key={index} class="check">
          <input type={takesSeveral ? 'checkbox' : 'radio'} name={`choice ${at}`} value={label} />
          <span>
            <Words text={label} />
            {description !== '' && (
              <span class="hint">
                {' '}
                <Words text={description} />
              </span>
            )}
          </span>
        </label>
      ))}
      <label for={`answer-${id}`}>
        {choices.length === 0 ? 'Your answer' : 'Another answer, or more about it'}
      </label>
      <textarea
        id={`answer-${id}`}
        name={`answer ${at}`}
        rows={choices.length === 0 ? 2 : 1}
        aria-invalid={props.isMissing ? 'true' : undefined}
      />
    </fieldset>
  )
}

/** An answer for each question. Empty for a question without one. */
function answersIn(data: FormData, questions: readonly Question[]): string[] {
  return questions.map((_, at) =>
    // A form sends line breaks as CRLF.
    [
      ...data.getAll(`choice ${at}`),
      String(data.get(`answer ${at}`) ?? '')
        .replaceAll('\r\n', '\n')
        .trim(),
    ]
      .filter((part) => part !== '')
      .join(', '),
  )
}
