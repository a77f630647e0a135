/** What a person or a program is told: stdout is the result, stderr is progress and, for every non-zero exit, one line. */
import { type ErrorCode, EXIT_STATUS, SubstratError } from '../errors.js'

/** An error of any origin as one of ours. What oclif says of wrong usage is USAGE; the rest is unexpected. */
export function asSubstratError(error: unknown): SubstratError {
  if (error instanceof SubstratError) return error
  const { message, oclif } = error as Error & { oclif?: { exit?: number } }
  const [first = 'something unexpected happened'] = String(message ?? error).split('\n')
  if (oclif?.exit === 2) {
    const details = String(message)
      .split('\n')
      .slice(1, 3)
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('See more help'))
    return new SubstratError('USAGE', [first, ...details].join(' '), {
      hint: 'add --help to see how it is used',
    })
  }
  return new SubstratError('UNEXPECTED', first, {
    hint: 'this is a defect of substrat: run it again with DEBUG=1 and report what it prints',
    cause: error,
  })
}

export function errorJson(error: SubstratError): { error: Record<string, unknown> } {
  const { code, message, hint, facts } = error
  return { error: { code, message, hint: hint ?? null, ...facts } }
}

export function errorLine(error: SubstratError): string {
  const line = error.hint === undefined ? error.message : `${error.message} (${error.hint})`
  return `substrat: ${oneLine(line)}`
}

/** The result is on stdout also for these: the command was understood, and says what to wait for. */
export function hasResult(code: ErrorCode): boolean {
  return [5, 6, 7].includes(EXIT_STATUS[code])
}

/** For a terminal: what would steer it is shown, not obeyed. For a pipe the text is exact. */
export function forPerson(text: string, stream: { isTTY?: boolean }): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
  return stream.isTTY === true ? text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, visible) : text
}

function visible(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
}

function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
}
