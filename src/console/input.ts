/** Reads and checks what the user passes: the message from arguments and stdin, the key, and provider options. */
import { isUtf8 } from 'node:buffer'
import { SubstratError } from '../errors.js'
import { ownArguments } from '../host/processes.js'
import { isTerminal } from '../host/streams.js'
import { limits } from '../limits.js'

/**
 * Reads stdin to its end for `-`, or if there is no message and stdin is not a TTY; never otherwise. After a message, stdin
 * is appended with a blank line between them. Throws USAGE if the result is not a valid message.
 */
export async function readMessage(words: {
  message: string | undefined
  dash: string | undefined
}): Promise<string> {
  const { message, dash } = words
  if (dash !== undefined && dash !== '-') throw tooMany(dash, 'put quotes around a message of several words')
  refuseBadArguments(message)
  const readsStdin = message === '-' || dash === '-' || (message === undefined && !isTerminal(0))
  const typed = message === '-' ? undefined : message
  const piped = readsStdin ? await readStdin() : undefined
  return checkMessage([typed, piped].filter((part) => part !== undefined && part !== '').join('\n\n'))
}

/** The only argument of a command that takes at most one. */
export function onlyWord([word, another]: string[]): string | undefined {
  if (another !== undefined) throw tooMany(another, 'name only one agent')
  return word
}

function tooMany(word: string, hint: string): SubstratError {
  return new SubstratError('USAGE', `one argument too many: ${JSON.stringify(word.slice(0, 80))}`, { hint })
}

/** Node replaces invalid UTF-8 in arguments by U+FFFD, so the original text is lost. */
function refuseBadArguments(message: string | undefined): void {
  if (message === undefined || !message.includes('\ufffd')) return
  const given = ownArguments()
  if (given !== undefined && !isUtf8(given)) throw notUtf8('the message')
}

function checkMessage(message: string): string {
  if (message.trim() === '') {
    throw new SubstratError('USAGE', 'the message is empty', {
      hint: 'pass it as an argument, or on stdin with -',
    })
  }
  if (Buffer.byteLength(message) > limits.messageBytesMax) throw tooLarge()
  return message
}

/** stdin as UTF-8, without the one newline that shells put at the end. */
export async function readStdin(): Promise<string> {
  const all = await readStdinBytes(limits.messageBytesMax + 2, tooLarge)
  if (!isUtf8(all)) throw notUtf8('the message on stdin')
  return all.toString('utf8').replace(/\r?\n$/, '')
}

/** Throws `tooLarge()` if stdin is longer. */
export async function readStdinBytes(bytesMax: number, tooLarge: () => SubstratError): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of process.stdin as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > bytesMax) throw tooLarge()
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function notUtf8(what: string): SubstratError {
  return new SubstratError('USAGE', `${what} is not UTF-8`, {
    hint: 'convert it first (iconv -t UTF-8), or put it in a file and name the file in the message',
  })
}

function tooLarge(): SubstratError {
  return new SubstratError('USAGE', `the message is larger than ${limits.messageBytesMax} bytes`, {
    hint: 'put it in a file in the workspace, and name the file in the message',
    facts: { bytes_max: limits.messageBytesMax },
  })
}

export function checkKey(given: string | undefined): string | null {
  if (given === undefined) return null
  // macOS returns file names decomposed (NFD). The same text must be the same key.
  const key = given.normalize('NFC')
  if (key !== '' && key.length <= limits.keyCharactersMax && !/\p{Cc}/u.test(key)) return key
  throw new SubstratError('USAGE', `the key ${JSON.stringify(key.slice(0, 80))} cannot be used`, {
    hint: `a key has 1 to ${limits.keyCharactersMax} characters and no control character`,
  })
}

/** Parses each `--option name=value`. */
export function parseOptions(pairs: string[] | undefined): Record<string, string> {
  const options: Record<string, string> = Object.create(null)
  for (const pair of pairs ?? []) {
    const at = pair.indexOf('=')
    if (at <= 0) {
      throw new SubstratError('USAGE', `--option ${JSON.stringify(pair.slice(0, 80))} is not name=value`, {
        hint: "for example: --option command='wc -w'",
      })
    }
    options[pair.slice(0, at)] = pair.slice(at + 1)
  }
  return { ...options }
}
