/**
 * The rules of `on_unknown`, for calls whose process died before their result was recorded. A rule is `ENTRY=ACTION`, with
 * an entry as in `allow`: `pay__charge=rerun`, `shell(git push*)=check ./was-pushed`, `shell=stop`.
 */
import { ON_UNKNOWN_RULE } from '../../schema/words.js'
import { coversCall, isPattern, isUsablePattern } from './allow.js'

/** The result of a call that the model gets if nothing more is known. */
export const UNKNOWN_OUTCOME =
  'Interrupted, outcome unknown: the process that ran this was killed. Look at what it did before doing it again.'

/**
 * `rerun`: the call runs again. `check`: a command of the user finds out whether it was done. `hint`: the call runs again if its tool server
 * calls the tool read-only or idempotent. `stop`: a person decides. `continue`: the model gets the result "outcome unknown".
 */
export type UnknownAction = { do: 'rerun' | 'hint' | 'stop' | 'continue' } | { do: 'check'; command: string }

export interface UnknownRule {
  entry: string
  action: UnknownAction
}

/** Undefined if the text is not a rule. */
export function parseRule(text: string): UnknownRule | undefined {
  const [, entry, word = '', command = ''] = ON_UNKNOWN_RULE.exec(text) ?? []
  if (entry === undefined || (isPattern(entry) && !isUsablePattern(entry))) return undefined
  if (word.startsWith('check')) return { entry, action: { do: 'check', command: command.trim() } }
  return { entry, action: { do: word as 'rerun' | 'stop' | 'continue' } }
}

/** The action of the first rule that covers the call. A pattern covers only one simple command. */
export function ruleFor(rules: readonly string[], tool: string, input: object): UnknownAction | undefined {
  for (const rule of rules) {
    const parsed = parseRule(rule)
    if (parsed === undefined) continue
    const { entry, action } = parsed
    if (entry === 'all' || entry === tool || coversCall([entry], tool, input)) return action
  }
  return undefined
}
