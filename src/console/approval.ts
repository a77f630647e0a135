/** Shows a person at the terminal the calls that an agent asks to run, and asks what to do. */
import { SubstratError } from '../errors.js'
import { readUserFile } from '../files/user-files.js'
import { isPlainObject } from '../format.js'
import { allowEntry, type CallEdit } from '../operations/approved-calls.js'
import type { DecisionRequest } from '../operations/decide.js'
import type { PendingAsk } from '../operations/pending-calls.js'
import { readStdin } from './input.js'
import { oneLine } from './output.js'
import { pendingCallsText } from './print/pending-calls.js'
import { choose, readLine } from './prompt.js'
import { stderr } from './stdio.js'

/** The decision of the person. */
export type CallsChoice = Pick<DecisionRequest, 'decision' | 'text' | 'always' | 'edits'>

type Calls = PendingAsk['calls']
type Word = 'yes' | 'no' | 'edit' | 'always' | 'later'

/**
 * Undefined for `later` and at the end of the input: nothing is decided. After an edit, shows the calls and asks again.
 * `always`: yes also allows the calls from the next turn on.
 */
export async function askAboutCalls(
  ask: PendingAsk,
  { always = false, signal }: { always?: boolean; signal?: AbortSignal } = {},
): Promise<CallsChoice | undefined> {
  let { calls } = ask
  for (;;) {
    stderr.write(`${pendingCallsText({ ...ask, calls }, stderr)}\n`)
    const entries = allowEntries({ ...ask, calls })
    const mayAllow = entries !== undefined && !always
    if (mayAllow)
      stderr.line(`"always" also allows from the next turn on: ${oneLine(entries.map(grantText).join(', '))}`)
    const word = await choose<Word>(
      questionOf(calls.length, wordsOf(ask, mayAllow)),
      wordsOf(ask, mayAllow),
      signal,
    )
    if (word === undefined || word === 'later') return undefined
    if (word === 'no') {
      const reason = await readLine('Reason for the agent, or Enter for none: ', signal)
      return reason === undefined ? undefined : { decision: 'deny', text: reason.trim() }
    }
    if (word !== 'edit') {
      const edits = calls.filter((call, at) => !isSameInput(call, ask.calls[at]))
      return {
        decision: 'approve',
        text: '',
        always: always || word === 'always',
        ...(edits.length === 0 ? {} : { edits: edits.map(({ call_id, input }) => ({ call_id, input })) }),
      }
    }
    const { editCalls } = await import('./edit-calls.js')
    calls = await editCalls(calls, signal)
  }
}

/** The entries that `always` adds. Undefined if it cannot allow exactly these calls. */
function allowEntries({ calls, canBeEdited }: PendingAsk): string[] | undefined {
  // An agent program has tools of its own, and asks about each call.
  const entries = canBeEdited ? calls.map(({ tool, input }) => allowEntry(tool, input)) : []
  return entries.length > 0 && entries.every((entry) => entry !== undefined)
    ? [...new Set(entries)]
    : undefined
}

/** A name alone covers any call of the tool. */
function grantText(entry: string): string {
  return entry.includes('(') ? entry : `every ${entry}`
}

function wordsOf({ canBeEdited }: PendingAsk, mayAllow: boolean): Word[] {
  return [
    'yes',
    'no',
    ...(canBeEdited ? ['edit' as const] : []),
    ...(mayAllow ? ['always' as const] : []),
    'later',
  ]
}

function questionOf(count: number, words: Word[]): string {
  const choices = words.map((word) => `[${word[0]}]${word.slice(1)}`)
  return `${count === 1 ? 'Run it?' : 'Run them?'} ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}: `
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

function isSameInput({ input }: Calls[number], made: Calls[number] | undefined): boolean {
  return JSON.stringify(input) === JSON.stringify(made?.input)
}
