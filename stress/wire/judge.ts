/**
 * The oracle. It knows the intended answer, and what no reader can know of a mutated one.
 *
 * - No call is made that the model did not make.
 * - No text and no call is lost without a failure or a mark.
 * - No valid answer fails.
 * - A strict server accepts the next request.
 */
import type { ModelMessage } from '../../src/provider/contract.js'
import { callsOf, type Intended, type IntendedCall, textsOf } from './intended.js'
import type { Damage } from './mutations.js'
import type { Answer, Dialect, Readers } from './readers.js'
import { refusalOf } from './strict.js'

/** The violation, or undefined. */
export function judge(intended: Intended, text: string, answer: Answer, damage: Damage): string | undefined {
  const { failure } = answer
  const { mayFail, hasError } = damage
  if (failure === undefined && answer.stop === undefined) return 'the answer has no end'
  if (failure === undefined && hasError) return 'an error of the server is overlooked'
  if (failure !== undefined && !mayFail) return `a valid answer fails: ${failure.message}`
  const invented = inventedCall(callsOf(intended), answer)
  if (invented !== undefined) return `a call that the model did not make: ${invented}`
  if (failure !== undefined) return undefined
  return mayFail
    ? lossOf(intended, text, answer, damage)
    : differenceOf(intended, text, answer, damage.isMixed)
}

/** Why a strict server refuses the next request of a conversation with this answer. */
export function nextRefusal(readers: Readers, dialect: Dialect, answer: Answer): string | undefined {
  if (answer.failure !== undefined || answer.stop === 'paused') return undefined
  const { text, calls, items } = answer
  const results = calls.map(
    ({ call_id, name }, n): ModelMessage => ({
      role: 'tool',
      call_id,
      name,
      content: n === 0 ? '' : 'ok',
      is_error: false,
    }),
  )
  const said = { content: text, tool_calls: calls, ...(items.length > 0 && { items: items as never }) }
  const history: ModelMessage[] = [
    { role: 'user', content: 'go' },
    { role: 'assistant', ...said },
    ...results,
    { role: 'user', content: 'go on' },
  ]
  const why = refusalOf(dialect, readers.body(dialect, history))
  return why === undefined ? undefined : `a strict server refuses the next request: ${why}`
}

/** A valid answer is read as it was meant. */
function differenceOf(
  intended: Intended,
  text: string,
  answer: Answer,
  isMixed: boolean,
): string | undefined {
  const order = answer.calls.map(({ call_id }) => call_id)
  // Interleaved calls come in the order in which they begin.
  const calls = isMixed
    ? callsOf(intended).sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id))
    : callsOf(intended)
  if (answer.text !== text) return `the text is ${JSON.stringify(answer.text)}`
  const isMarked = intended.end === 'unknown' || intended.end === 'none'
  // The last call of an answer that may be cut off is an error if it looks unfinished.
  const made = answer.calls.map((call, n) =>
    call.arguments_error !== undefined && isCut(intended) && n === calls.length - 1
      ? toldCall(calls[n] as IntendedCall)
      : toldCall(call),
  )
  if (made.join('\n') !== calls.map(toldCall).join('\n'))
    return `the calls are ${made.join(', ') || 'missing'}`
  if (answer.calls.some(({ call_id }, n) => call_id !== calls[n]?.id)) return 'the calls have other ids'
  const isUnmarked = answer.incomplete === undefined
  if (isMarked && isUnmarked) return 'an answer without a known end is not marked'
  if (!isMarked && !isUnmarked) return `a complete answer is marked: ${answer.incomplete}`
  const reason = calls.length > 0 ? 'tool_calls' : intended.end === 'cut' ? 'length' : 'end'
  return answer.stop === reason ? undefined : `the answer ends with ${answer.stop}, not ${reason}`
}

function isCut({ end }: Intended): boolean {
  return end !== 'complete'
}

/** The parts that a mutated answer has lost without a mark. */
function lossOf(intended: Intended, text: string, answer: Answer, damage: Damage): string | undefined {
  if (answer.incomplete !== undefined || answer.stop === 'length' || answer.stop === 'paused')
    return undefined
  const { isTextMoved, areNamesShared } = damage
  const distinct = <T>(all: T[]): T[] => (areNamesShared ? [...new Set(all)] : all)
  const texts = distinct(textsOf(intended)).join('')
  const isLost = isTextMoved || areNamesShared ? lacks(texts, answer.text) : answer.text !== text
  if (isLost) return `text is lost without a mark: ${JSON.stringify(answer.text)}`
  // The model receives the error of a call that could not be read.
  if (answer.calls.some(({ arguments_error }) => arguments_error !== undefined)) return undefined
  const missing = distinct(callsOf(intended).map(toldCall)).length - answer.calls.length
  return missing > 0 ? `${missing} calls are lost without a mark` : undefined
}

function inventedCall(calls: IntendedCall[], answer: Answer): string | undefined {
  const known = calls.map(toldCall)
  for (const { name, input, arguments_error } of answer.calls) {
    if (arguments_error !== undefined) continue
    const at = known.indexOf(toldCall({ name, input }))
    if (at === -1) return toldCall({ name, input })
    known.splice(at, 1)
  }
  return undefined
}

function toldCall({ name, input }: { name: string; input: object }): string {
  return `${name}(${JSON.stringify(input)})`
}

/** Whether a unit of the text is missing. Two halves of a character may come from two texts. */
function lacks(text: string, kept: string): boolean {
  const left = kept.split('')
  return text.split('').some((unit) => {
    const at = left.indexOf(unit)
    if (at !== -1) left.splice(at, 1)
    return at === -1
  })
}
