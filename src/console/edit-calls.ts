/** Lets a person change the arguments of calls: in their editor or, on a system without one, in a line at the terminal. */
import { SubstratError } from '../errors.js'
import { isPlainObject } from '../format.js'
import type { PendingCalls } from '../operations/pending-calls.js'
import type { JsonObject } from '../provider/contract.js'
import { editText, foundEditor } from './edit-text.js'
import { errorLine, oneLine, printableText } from './output.js'
import { readLine } from './prompt.js'
import { stderr } from './stdio.js'

type Calls = PendingCalls['calls']

/** The calls with the arguments that the person leaves. An unusable text changes nothing, and the person reads why. */
export async function editCalls(calls: Calls, signal?: AbortSignal): Promise<Calls> {
  try {
    const editor = foundEditor()
    if (editor === undefined) return await editInLines(calls, signal)
    const listed = calls.map(({ tool, input }) => ({ tool, input }))
    const text = await editText(editor, 'calls.json', `${JSON.stringify(listed, null, 2)}\n`)
    return withInputs(calls, text)
  } catch (error) {
    if (!(error instanceof SubstratError) && !(error instanceof SyntaxError)) throw error
    const text =
      error instanceof SyntaxError
        ? `substrat: the edited text is not usable, so nothing is changed: ${error.message}`
        : errorLine(error)
    stderr.line(text)
    return calls
  }
}

/** Throws SyntaxError for other calls than these. */
function withInputs(calls: Calls, text: string): Calls {
  const edited: unknown = JSON.parse(text)
  if (!Array.isArray(edited) || edited.length !== calls.length)
    throw new SyntaxError(`it must be a list of ${calls.length} calls`)
  return calls.map((call, at) => {
    const { tool, input } = isPlainObject(edited[at]) ? edited[at] : {}
    if (tool !== call.tool) throw new SyntaxError(`call ${at + 1} must be of the tool ${call.tool}`)
    if (!isPlainObject(input)) throw new SyntaxError(`the input of call ${at + 1} must be an object`)
    return { ...call, input: input as JsonObject }
  })
}

/** A line for each call: its only text, such as the command of `shell`, or all its arguments as JSON. */
async function editInLines(calls: Calls, signal: AbortSignal | undefined): Promise<Calls> {
  stderr.line('substrat: neither VISUAL nor EDITOR names an editor; change the line and press Enter')
  const edited: Calls = []
  for (const call of calls) edited.push({ ...call, input: await editInLine(call, signal) })
  return edited
}

async function editInLine(
  { tool, input }: Calls[number],
  signal: AbortSignal | undefined,
): Promise<JsonObject> {
  const [[name, only] = [], ...more] = Object.entries(input)
  // Control characters in a line would move the cursor. JSON has none.
  const isPlain =
    more.length === 0 && typeof only === 'string' && printableText(only, { isTTY: true }) === only
  if (name !== undefined && isPlain && !/[\t\n]/.test(only as string)) {
    const line = await readLine(`${oneLine(tool)} ${oneLine(name)}: `, signal, only as string)
    return line === undefined ? input : { [name]: line }
  }
  const line = await readLine(`${oneLine(tool)}: `, signal, JSON.stringify(input))
  const value: unknown = line === undefined ? input : JSON.parse(line)
  if (!isPlainObject(value)) throw new SyntaxError(`the input of ${tool} must be an object`)
  return value as JsonObject
}
