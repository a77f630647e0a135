/** Shows a person at the terminal the calls that an agent asks to run, and asks what to do. */
import { SubstratError } from '../errors.js'
import { readUserFile } from '../files/user-files.js'
import { isPlainObject } from '../format.js'
import type { CallEdit } from '../operations/approved-calls.js'
import type { PendingCalls } from '../operations/pending-calls.js'
import { readStdin } from './input.js'
import { errorLine, oneLine, printableText } from './output.js'
import { choose } from './prompt.js'
import { stderr } from './stdio.js'

interface Choice {
  isDenied: boolean
  /** The calls whose arguments the person changed. */
  edits?: CallEdit[]
}

type Calls = PendingCalls['calls']

/** Undefined at the end of the input: nothing is decided. After an edit, shows the calls and asks again. */
export async function askAboutCalls(
  agent: string,
  { calls: made, canBeEdited }: PendingCalls,
): Promise<Choice | undefined> {
  let calls = made
  for (;;) {
    show(agent, calls)
    const choice = await askOnce(calls.length, canBeEdited)
    if (choice === undefined) return undefined
    if (choice === 'no') return { isDenied: true }
    if (choice === 'yes') {
      const edits = calls.filter((call, at) => !isSameInput(call, made[at]))
      return {
        isDenied: false,
        ...(edits.length === 0 ? {} : { edits: edits.map(({ call_id, input }) => ({ call_id, input })) }),
      }
    }
    calls = await editCalls(calls)
  }
}

/** The calls with the arguments in the file, or on stdin for `-`: a list of `{call_id, input}`. Throws USAGE. */
export async function readEdits(file: string): Promise<CallEdit[]> {
  try {
    const edits: unknown = JSON.parse(file === '-' ? await readStdin() : readUserFile(file))
    if (!Array.isArray(edits) || edits.length === 0) throw new SyntaxError('it must be a list of calls')
    return edits.map((edit: unknown, at) => {
      const { call_id, input } = isPlainObject(edit) ? edit : {}
      if (typeof call_id !== 'string') throw new SyntaxError(`call ${at + 1} has no call_id`)
      if (!isPlainObject(input)) throw new SyntaxError(`the input of call ${at + 1} must be an object`)
      return { call_id, input: input as CallEdit['input'] }
    })
  } catch (error) {
    if (error instanceof SubstratError) throw error
    throw new SubstratError('USAGE', `the edits are invalid: ${(error as Error).message}`, {
      hint: 'write JSON such as [{"call_id": "…", "input": {…}}]; nothing was decided',
    })
  }
}

function askOnce(count: number, canBeEdited: boolean): Promise<'yes' | 'no' | 'edit' | undefined> {
  const question = count === 1 ? 'Run it?' : 'Run them?'
  return canBeEdited
    ? choose(`${question} [y]es, [n]o or [e]dit: `, ['yes', 'no', 'edit'])
    : choose(`${question} [y]es or [n]o: `, ['yes', 'no'])
}

function show(agent: string, calls: Calls): void {
  for (const { tool, input } of calls) {
    const fields = Object.entries(input).map(([name, value]) => `  ${oneLine(name)}: ${valueText(value)}`)
    const text = [`${agent} asks to run ${oneLine(tool)}`, ...fields].join('\n')
    stderr.write(`${printableText(text, stderr)}\n`)
  }
}

/** The calls with the arguments that the person's editor leaves. An unusable text changes nothing. */
async function editCalls(calls: Calls): Promise<Calls> {
  const { editText } = await import('./edit-text.js')
  const before = JSON.stringify(
    calls.map(({ tool, input }) => ({ tool, input })),
    null,
    2,
  )
  try {
    return withInputs(calls, await editText('calls.json', `${before}\n`))
  } catch (error) {
    if (!(error instanceof SubstratError) && !(error instanceof SyntaxError)) throw error
    const text =
      error instanceof SyntaxError
        ? `substrat: the edited text is not JSON, so nothing is changed: ${error.message}`
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
    return { ...call, input: input as Calls[number]['input'] }
  })
}

function isSameInput({ input }: Calls[number], made: Calls[number] | undefined): boolean {
  return JSON.stringify(input) === JSON.stringify(made?.input)
}

/** Further lines are indented, so that an argument cannot imitate another call or the question. */
function valueText(value: unknown): string {
  const text = withoutGaps(typeof value === 'string' ? value : JSON.stringify(value))
  return text.includes('\n') ? `\n    ${text.trimEnd().replaceAll('\n', '\n    ')}` : text
}

const EMPTY_LINES_MAX = 5
const SPACES_MAX = 80

/** A gap of many lines or spaces would move the text before it out of the window. */
function withoutGaps(text: string): string {
  return text
    .replace(/\n(?:[^\S\n]*\n)+/g, (gap) => {
      const lines = gap.split('\n').length - 2
      return lines > EMPTY_LINES_MAX ? `\n[${lines} empty lines]\n` : gap
    })
    .replace(/[^\S\n]+/g, (gap) => (gap.length > SPACES_MAX ? ` [${gap.length} spaces] ` : gap))
}
