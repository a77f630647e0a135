/** The form of output: results on stdout; progress, and one line for each nonzero exit, on stderr. */
import { withUtcTimes } from '../clock.js'
import { suggestion } from '../closest.js'
import type { Outcome } from '../dispatch/outcome.js'
import { type ErrorCode, EXIT_STATUS, RUN_AGAIN, SubstratError, shellWord } from '../errors.js'

/**
 * Converts an error of any origin. Usage errors of oclif become USAGE; unknown errors become UNEXPECTED. `command` is the
 * command that runs, such as `substrat config get`.
 */
export function asSubstratError(error: unknown, command: string): SubstratError {
  if (error instanceof SubstratError) {
    // oclif prefixes the message of a flag's own parser.
    if (error.message.startsWith('Parsing --')) error.message = usage(error.message)
    return error
  }
  const { message, oclif, syscall, code, info, flags, parse } = error as NodeJS.ErrnoException & {
    oclif?: { exit?: number }
    info?: { code?: string }
    /** Set for an unknown flag. */
    flags?: string[]
    parse?: { input?: { flags?: object } }
  }
  // Node and oclif open files too, before a command of ours starts.
  if ([code, info?.code].includes('EMFILE'))
    return new SubstratError('STORAGE_FAILED', `cannot open a file: ${message}`, {
      hint: `too many open files: raise \`ulimit -n\`, then ${RUN_AGAIN}`,
      facts: { errno: 'EMFILE' },
      cause: error,
    })
  if (syscall === 'uv_cwd')
    return new SubstratError('USAGE', 'the current directory no longer exists', {
      hint: `change to an existing directory, then ${RUN_AGAIN}`,
    })
  if (oclif?.exit === 2)
    return new SubstratError('USAGE', usage(String(message)) + flagSuggestion(flags, parse?.input?.flags), {
      hint: `${command} --help`,
    })
  const [first = ''] = String(message ?? error).split('\n')
  return new SubstratError('UNEXPECTED', `unexpected error: ${first || 'no message'}`, {
    hint: `this is a bug in substrat; ${RUN_AGAIN}; if it fails again, report its output with DEBUG=1`,
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

/** Puts oclif's message in one line, in substrat's words: the first sentence, and at most two entries of the list below it. */
function usage(message: string): string {
  const [first = '', ...entries] = message
    // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours are removed
    .replace(/\u001b\[\d*m/g, '')
    .replace(/^The following errors? occurred:\n/, '')
    .replace('\nSee more help with --help', '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, 3)
  if (/^Missing \d+ required args?/.test(first)) return `missing ${entries.map(argumentOf).join('; ')}`
  return USAGE_WORDS.reduce(
    (text, [oclifs, ours]) => text.replace(oclifs, ours),
    [first, ...entries].join(' '),
  )
}

function argumentOf(entry: string): string {
  const [name = '', ...rest] = entry.split(/ {2,}/)
  return [`argument ${name.toUpperCase()}`, ...rest].join(': ')
}

const USAGE_WORDS: [RegExp, string][] = [
  [/^Parsing (--\S+)\s+/, '$1: '],
  [/^(--\S+): Expected (an integer.*) but received: (.*)$/, '$1 must be $2, not $3'],
  [/^Nonexistent flags?: (.*)$/, 'there is no flag $1'],
  [/^Unexpected arguments?: (.*)$/, 'unexpected argument: $1'],
  [/^Missing required flag (.*)$/, 'the flag --$1 is required'],
  [/^Flag (--\S+) expects a value$/, 'the flag $1 needs a value'],
  [/^Flag (--\S+) expects one of these values: (.*)$/, 'the flag $1 needs one of these values: $2'],
  [/^Flag (--\S+) can only be specified once$/, 'the flag $1 can be given only once'],
  [/^Expected (--[^=\s]+)=(.*) to be one of: (.*)$/, '$1 must be one of $3, not $2'],
  [/^Expected (.*) to be one of: (.*)$/, '$1 is not one of: $2'],
  [/^(--[^=\s]+)=.*? cannot also be provided when using (--[^=\s]+).*$/, '$1 and $2 cannot be combined'],
  [/^All of the following must be provided when using (--[^=\s]+): (.*)$/, '$1 needs $2'],
]

export function errorJson(error: SubstratError): { error: Record<string, unknown> } {
  const { code, message, hint, facts } = error
  return {
    error: {
      code,
      message: withUtcTimes(message),
      hint: hint === undefined ? null : withUtcTimes(hint),
      ...facts,
    },
  }
}

export function errorLine(error: SubstratError): string {
  const line =
    error.hint === undefined
      ? boundedSentence(error.message)
      : `${boundedSentence(error.message)} (${boundedSentence(error.hint)})`
  return `substrat: ${oneLine(line)}`
}

/** A message may quote an argument of any length. `--json` prints it in full. */
const SENTENCE_CHARACTERS_MAX = 4000

function boundedSentence(sentence: string): string {
  return sentence.length <= SENTENCE_CHARACTERS_MAX
    ? sentence
    : `${sentence.slice(0, SENTENCE_CHARACTERS_MAX)}…`
}

/** Whether the command prints its result on stdout although it exits nonzero: the turn waits, was interrupted or is limited. */
export function hasResult(code: ErrorCode): boolean {
  return WITH_RESULT.includes(EXIT_STATUS[code])
}

/** Whether a command with this exit status has printed a result. */
export function hasResultStatus(status: unknown): boolean {
  return [undefined, 0, ...WITH_RESULT].includes(status as number | undefined)
}

const WITH_RESULT: number[] = [5, 6, 7]

/** Characters that control a terminal, or reverse the order of the text after them, such as `\u202e`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * On a terminal, replaces control characters by visible codes, and the signs that substrat draws by ASCII if the locale has no
 * others. In a pipe or file the text stays exact.
 */
export function printableText(text: string, stream: { isTTY?: boolean }): string {
  if (stream.isTTY !== true) return text
  const visible = text.replace(STEERING, visibleCode)
  return isAscii() ? visible.replace(DRAWN, (sign) => IN_ASCII[sign] as string) : visible
}

/** Whether the locale of the terminal has only ASCII. Without any setting, a terminal of today shows UTF-8. */
export function isAscii({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv = process.env): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || 'C.UTF-8'
  return !/utf-?8/i.test(locale)
}

const IN_ASCII: Record<string, string> = { '…': '...', '├─': '|-', '└─': '`-', '│': '|' }
const DRAWN = /…|├─|└─|│/g

function visibleCode(character: string): string {
  const code = character.charCodeAt(0).toString(16)
  return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`
}

/** Text from outside in one line, so that it cannot imitate another line of output. */
export function oneLine(text: string): string {
  return text.replace(/[\t\n\u2028\u2029]+/g, ' ').replace(STEERING, ' ')
}

export function whereResultIs({ agent, run, wait }: Outcome['result']): string {
  const name = shellWord(agent.path)
  // A secret is printed only once, so the user needs a new token.
  if (wait !== null) return `the turn waits for a decision; get a new token: substrat token rotate ${name}`
  if (run === null) return `the command completed: substrat show ${name}`
  return `the turn has ended, and its reply is in the log: substrat show ${name} --reply`
}

export function causeOf(error: SubstratError): string {
  return error.cause instanceof Error ? `caused by ${error.cause.stack}\n` : ''
}
