/** The calls that an agent asks to run, with their whole arguments, as a person reads them before a decision. */
import { callText } from '../../dispatch/call-text.js'
import type { PendingAsk } from '../../operations/pending-calls.js'
import { isColoured } from '../live/signs.js'
import { oneLine, printableText } from '../output.js'
import { type FileChange, fileChange } from './file-change.js'
import { withoutGaps } from './gaps.js'

/** More lines of a diff hide the question below them. */
const DIFF_LINES_MAX = 100

/** The stream that gets the text: a terminal has colours, and control characters are made visible for it. */
type Stream = { isTTY?: boolean }

/** A line for each call and below it its fields, or the change of a file instead of its text. Ready to be written. */
export function pendingCallsText(
  { path, calls, workspace }: Pick<PendingAsk, 'path' | 'calls' | 'workspace'>,
  stream: Stream,
): string {
  return calls
    .flatMap((call) => {
      const change = fileChange(workspace, call, DIFF_LINES_MAX)
      const hidden = typeof change === 'object' ? change.fields : []
      const fields = Object.entries(call.input).filter(([name]) => !hidden.includes(name))
      const lines = [
        `${path} asks to run ${oneLine(call.tool)}`,
        ...fields.map(([name, value]) => `  ${oneLine(name)}: ${valueText(value)}`),
        ...(typeof change === 'string' ? [`  (${oneLine(change)})`] : []),
      ]
      const text = printableText(lines.join('\n'), stream)
      return typeof change === 'object' ? [text, changeText(change, 2, stream)] : [text]
    })
    .join('\n')
}

const SHOWN_LINES_MAX = 40

/** For `show`: the change that each call makes to a file, without colours. Undefined for another call. */
export function changesOf({ calls, workspace }: PendingAsk): (string | undefined)[] {
  return calls.map((call) => {
    const change = fileChange(workspace, call, SHOWN_LINES_MAX)
    if (typeof change !== 'object') return undefined
    const fields = Object.entries(call.input).filter(([name]) => !change.fields.includes(name))
    return `${callText({ tool: call.tool, input: Object.fromEntries(fields) })}\n${changeText(change, 0, {})}`
  })
}

/** The change with its lines below its head, which is indented by so many columns. Ready to be written. */
function changeText({ head, lines }: FileChange, indent: number, stream: Stream): string {
  const [begin, more] = [' '.repeat(indent), ' '.repeat(indent + 2)]
  const shown = lines.map((line) => {
    const text = `${more}${printableText(line, stream)}`
    const colour = isColoured(stream) ? COLOURS[line[0] as string] : undefined
    return colour === undefined ? text : `${colour}${text}${PLAIN}`
  })
  return [`${begin}${head}${lines.length === 0 ? '' : ':'}`, ...shown].join('\n')
}

const COLOURS: Record<string, string> = { '+': '\u001b[32m', '-': '\u001b[31m', '@': '\u001b[36m' }
const PLAIN = '\u001b[39m'

/** Further lines are indented, so that an argument cannot imitate another call or the question. */
function valueText(value: unknown): string {
  const text = withoutGaps(typeof value === 'string' ? value : JSON.stringify(value))
  return text.includes('\n') ? `\n    ${text.trimEnd().replaceAll('\n', '\n    ')}` : text
}
