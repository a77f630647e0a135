/** The entries of `--allow`: names of tools, and patterns for the commands of `shell`, such as `shell(npm test*)`. */
import { matchesCommand, patternOf } from './command-words.js'

const PATTERN = /^shell\((.*)\)$/s

/** Whether the entry has a pattern of arguments. */
export function isPattern(entry: string): boolean {
  return entry.includes('(')
}

/** Whether the pattern can match anything: it is for `shell`, and its text is one simple command. */
export function isUsablePattern(entry: string): boolean {
  const text = PATTERN.exec(entry)?.[1]
  return text !== undefined && patternOf(text) !== undefined
}

/** Whether the pattern covers exactly one command, and can be written in a list. */
export function isExactPattern(entry: string): boolean {
  return isUsablePattern(entry) && !entry.endsWith('*)') && /^shell\([^()\n]{1,500}\)$/.test(entry)
}

/** Whether a pattern of `allow` covers this call. */
export function coversCall(allow: string[], tool: string, input: object): boolean {
  const { command } = input as { command?: unknown }
  if (tool !== 'shell' || typeof command !== 'string') return false
  return allow.some((entry) => {
    const text = PATTERN.exec(entry)?.[1]
    const pattern = text === undefined ? undefined : patternOf(text)
    return pattern !== undefined && matchesCommand(pattern, command)
  })
}
