/** What a person or a program is told: stdout is the result, stderr is progress and, for every non-zero exit, one line. */
import { suggestion } from '../closest.js'
import { type ErrorCode, EXIT_STATUS, SubstratError } from '../errors.js'

/**
 * An error of any origin as one of ours. What oclif says of wrong usage is USAGE; the rest is unexpected. `command` is
 * the one that is run: `substrat config get`.
 */
export function asSubstratError(error: unknown, command: string): SubstratError {
  if (error instanceof SubstratError) {
    // oclif has put words around what our own flags say of their value.
    if (error.message.startsWith('Parsing --')) error.message = usage(error.message)
    return error
  }
  const { message, oclif, syscall, code, info, flags, parse } = error as NodeJS.ErrnoException & {
    oclif?: { exit?: number }
    info?: { code?: string }
    /** Of a flag that does not exist. */
    flags?: string[]
    parse?: { input?: { flags?: object } }
  }
  // Of Node or oclif, which open files too: before a command of ours has begun.
  if ([code, info?.code].includes('EMFILE'))
    return new SubstratError('STORAGE_FAILED', `cannot open a file: ${message}`, {
      hint: 'too many open files: raise `ulimit -n`, then run the same command again',
      facts: { errno: 'EMFILE' },
      cause: error,
    })
  if (syscall === 'uv_cwd')
    return new SubstratError('USAGE', 'the current directory is gone', {
      hint: 'change to one that is there, then run the same command again',
    })
  if (oclif?.exit === 2)
    return new SubstratError('USAGE', usage(String(message)) + flagSuggestion(flags, parse?.input?.flags), {
      hint: `${command} --help`,
    })
  const [first = ''] = String(message ?? error).split('\n')
  return new SubstratError('UNEXPECTED', `something went wrong: ${first || 'nobody said what'}`, {
    hint: 'run the same command again; this is a defect of substrat: if it stays, run it with DEBUG=1 and report what it prints',
    cause: error,
  })
}

function flagSuggestion([flag]: string[] = [], flags: object = {}): string {
  return flag?.startsWith('--') === true
    ? suggestion(
        flag,
        Object.keys(flags).map((name) => `--${name}`),
      )
    : ''
}

/** oclif's words in one line: what is wrong, and of a list below it the first two entries. */
function usage(message: string): string {
  return (
    message
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of a terminal are taken out
      .replace(/\u001b\[\d*m/g, '')
      .replace(/^The following errors? occurred:\n/, '')
      .replace('\nSee more help with --help', '')
      .replace(/^Parsing (--\S+)\s+/, '$1: ')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .slice(0, 3)
      .map((line) => line.trim().replace(/ {2,}/g, ': '))
      .join(' ')
  )
}

export function errorJson(error: SubstratError): { error: Record<string, unknown> } {
  const { code, message, hint, facts } = error
  return { error: { code, message, hint: hint ?? null, ...facts } }
}

export function errorLine(error: SubstratError): string {
  const line =
    error.hint === undefined
      ? boundedSentence(error.message)
      : `${boundedSentence(error.message)} (${boundedSentence(error.hint)})`
  return `substrat: ${oneLine(line)}`
}

/** A word of any length may be repeated in a sentence; with `--json` all of it is there. */
const SENTENCE_CHARACTERS_MAX = 4000

function boundedSentence(sentence: string): string {
  return sentence.length <= SENTENCE_CHARACTERS_MAX
    ? sentence
    : `${sentence.slice(0, SENTENCE_CHARACTERS_MAX)}…`
}

/** The result is on stdout also for these: the command was understood, and says what to wait for. */
export function hasResult(code: ErrorCode): boolean {
  return WITH_RESULT.includes(EXIT_STATUS[code])
}

/** Whether a command that exits so has printed a result. */
export function hasResultStatus(status: unknown): boolean {
  return [undefined, 0, ...WITH_RESULT].includes(status as number | undefined)
}

const WITH_RESULT: number[] = [5, 6, 7]

/** What steers a terminal, or has it show text in another order than it is in: `\u202e` turns what is behind it around. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** For a terminal: what would steer it is shown, not obeyed. For a pipe the text is exact. */
export function printableText(text: string, stream: { isTTY?: boolean }): string {
  return stream.isTTY === true ? text.replace(STEERING, visibleCode) : text
}

function visibleCode(character: string): string {
  const code = character.charCodeAt(0).toString(16)
  return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`
}

/** Where a line of ours must not look like several, or like another one. */
export function oneLine(text: string): string {
  return text.replace(/[\t\n\u2028\u2029]+/g, ' ').replace(STEERING, ' ')
}
